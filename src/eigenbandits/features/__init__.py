"""Decision sets from queries and items, and from images through networks whose features lie in files."""

from eigenbandits.features.cache import find
from eigenbandits.features.file import Features, open_features
from eigenbandits.features.product import Product, product

__all__ = ["Features", "Product", "find", "open_features", "product"]
