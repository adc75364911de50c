"""The posterior of one member of a learned prior, from sums or from rows, in units of the noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from eigenbandits import linalg
from eigenbandits.belief.spectral.prior import Member

Array = NDArray[np.float64]


def sums_estimate(member: Member) -> Array:
    """Return the posterior mean in the basis of the eigenvectors: ρH^½(I + ρA)⁻¹H^½b."""
    return member.ratio * member.prior.roots * _solved(member)


def sums_covariance(member: Member) -> Array:
    """Return the posterior covariance in the same basis: σ²ρH^½(I + ρA)⁻¹H^½."""
    half = lapack.dpotri(member.lower, lower=1)[0]
    linalg.mirror(half)
    scaled = member.prior.roots * math.sqrt(member.variance * member.ratio)
    return np.asarray(half * scaled * scaled[:, None])


def rows_covariance(member: Member, inside: Array) -> Array:
    """Return the same from rows in the basis of all eigenvectors: σ²(ρH − MᵀM), with M = L⁻¹XρH and LLᵀ = I + ρXHXᵀ."""
    variances = member.ratio * member.prior.roots**2
    pulled: Array = lapack.dtrtrs(member.lower, inside * variances, lower=1)[0]
    covariance = -(pulled.T @ pulled)
    covariance.flat[:: len(covariance) + 1] += variances
    return np.asarray(member.variance * covariance)


def rows_estimate(member: Member, rows: Array, basis: Array | None = None) -> Array:
    """Return the posterior mean: ρHXᵀ(I + ρXHXᵀ)⁻¹r, for the rows X and the basis that the member was fitted with."""
    pulled = _solved(member) @ rows
    if basis is None:
        return np.asarray(member.ratio * member.prior.roots**2 * pulled)
    return member.ratio * _times_prior(member, pulled, basis)


def thin_covariance(member: Member, rows: Array, basis: Array) -> tuple[float, Array, Array]:
    """Return (c, P, M) with cI + PᵀP − MᵀM the posterior covariance over σ², by Woodbury's formula.

    ρH = cI + PᵀP, and M = L⁻¹XρH with LLᵀ = I + ρXHXᵀ.
    """
    prior, ratio = member.prior, member.ratio
    excess = np.maximum(prior.roots**2 - prior.rest**2, 0.0)
    plus = (basis * np.sqrt(ratio * excess)).T
    minus: Array = lapack.dtrtrs(member.lower, ratio * _times_prior(member, rows, basis), lower=1)[0]
    return ratio * prior.rest**2, np.ascontiguousarray(plus), np.ascontiguousarray(minus)


def _solved(member: Member) -> Array:
    """Return L⁻ᵀL⁻¹v."""
    solved: Array = lapack.dtrtrs(member.lower, member.white, lower=1, trans=1)[0]
    return solved


def _times_prior(member: Member, vectors: Array, basis: Array) -> Array:
    """Return vectors times H."""
    prior = member.prior
    excess = prior.roots**2 - prior.rest**2
    return np.asarray(prior.rest**2 * vectors + ((vectors @ basis) * excess) @ basis.T)
