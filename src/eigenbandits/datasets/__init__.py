"""Images with labels: where they lie, how their files are read, and where they are fetched from."""

from eigenbandits.datasets.base import DataError, LabelledImages
from eigenbandits.datasets.cifar import cifar10
from eigenbandits.datasets.folders import ClassFolders
from eigenbandits.datasets.idx import mnist
from eigenbandits.datasets.places import data_folder

__all__ = ["ClassFolders", "DataError", "LabelledImages", "cifar10", "data_folder", "mnist"]
