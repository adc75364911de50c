"""Labeled images: how their files are read, and where they are fetched from."""

from eigenbandits.papers.lale2019.datasets.cifar import cifar10
from eigenbandits.papers.lale2019.datasets.folders import ClassFolders
from eigenbandits.papers.lale2019.datasets.idx import mnist
from eigenbandits.papers.lale2019.datasets.images import LabeledImages

__all__ = ["ClassFolders", "LabeledImages", "cifar10", "mnist"]
