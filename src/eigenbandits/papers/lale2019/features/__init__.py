"""The features of images in files, one for each network, and the cache of these files."""

from eigenbandits.papers.lale2019.features.cache import find
from eigenbandits.papers.lale2019.features.file import Features, open_features

__all__ = ["Features", "find", "open_features"]
