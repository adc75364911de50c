"""Where does θ* live: the whole space, the span of what was seen, a known subspace, or a random one."""

from eigenbandits.subspace.base import Frame, Subspace
from eigenbandits.subspace.fixed import Known, RandomProjection
from eigenbandits.subspace.pca import PCA
from eigenbandits.subspace.spectrum import BoundedSpectrum, Spectrum
from eigenbandits.subspace.streaming import Streaming
from eigenbandits.subspace.whole import Whole

__all__ = ["PCA", "BoundedSpectrum", "Frame", "Known", "RandomProjection", "Spectrum", "Streaming", "Subspace", "Whole"]
