"""The posterior of one member of a learned prior, from sums or from rows, in units of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import blas, lapack

from eigenbandits import linalg
from eigenbandits.belief.spectral.prior import Member
from eigenbandits.inputs import Array


def sums_estimate(member: Member) -> Array:
    """Return the posterior mean in the basis of the eigenvectors: ρH^½(I + ρA)⁻¹H^½b."""
    return member.ratio * member.prior.roots * _solved(member)


def sums_covariance(members: Sequence[Member], shares: Sequence[float]) -> Array:
    """Return Σ share · σ²ρH^½(I + ρA)⁻¹H^½ over the members: their joint posterior covariance, in the same basis."""
    total = np.zeros(members[0].lower.shape, order="F")
    for member, share in zip(members, shares, strict=True):
        half = lapack.dpotri(member.lower, lower=1)[0]
        scaled = member.prior.roots * math.sqrt(share * member.variance * member.ratio)
        half *= scaled
        half *= scaled[:, None]
        total += half
    linalg.mirror(total)
    return total


def rows_covariance(members: Sequence[Member], shares: Sequence[float], inside: Array) -> Array:
    """Return the same from rows in the basis of all eigenvectors: σ²(ρH − MᵀM), with M = L⁻¹XρH and LLᵀ = I + ρXHXᵀ."""
    count, dim = inside.shape
    pulled, variances = np.empty((len(members) * count, dim)), np.zeros(dim)
    for place, (member, share) in enumerate(zip(members, shares, strict=True)):
        own = member.ratio * member.prior.roots**2
        scaled = math.sqrt(share * member.variance) * own
        block = pulled[place * count : (place + 1) * count]
        np.multiply(inside, scaled, out=block)
        # In place: transposed, the block has the Fortran order that BLAS expects.
        blas.dtrsm(1.0, member.lower, block.T, side=1, lower=1, trans_a=1, overwrite_b=1)
        variances += share * member.variance * own
    covariance = -(pulled.T @ pulled)
    linalg.add_diagonal(covariance, variances)
    return covariance


def rows_estimate(member: Member, rows: Array, basis: Array | None = None) -> Array:
    """Return the posterior mean ρHXᵀ(I + ρXHXᵀ)⁻¹r, for the rows X and the basis with which the member was fitted."""
    pulled = _solved(member) @ rows
    if basis is None:
        return np.asarray(member.ratio * member.prior.roots**2 * pulled)
    return member.ratio * _times_prior(member, pulled, basis)


def full_covariance(member: Member, gram: Array, moment: Array, basis: Array) -> tuple[Array, Array]:
    """Return (Σ + (ρH)⁻¹)⁻¹, the posterior covariance over σ², and the posterior mean, from the sums.

    As R(I + RΣR)⁻¹R with R² = ρH: the variances of a steep shape differ by as many digits as there are, so that a sum
    with (ρH)⁻¹ would keep none of Σ.
    """
    inner = _between_roots(member, gram, basis)
    linalg.add_diagonal(inner, 1.0)
    inverse, solved, _ = linalg.inverse(inner, 1.0, _times_root(member, moment, basis))
    linalg.mirror(inverse)
    covariance = _between_roots(member, inverse, basis)
    linalg.mirror(covariance)
    return covariance, _times_root(member, solved, basis)


def thin_covariance(member: Member, rows: Array, basis: Array) -> tuple[float, Array, Array]:
    """Return (c, P, M) with cI + PᵀP − MᵀM the posterior covariance over σ², by the Woodbury formula.

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


def _times_root(member: Member, vector: Array, basis: Array) -> Array:
    """Return R times a vector, with R² = ρH."""
    prior = member.prior
    return math.sqrt(member.ratio) * (prior.rest * vector + basis @ ((prior.roots - prior.rest) * (vector @ basis)))


def _between_roots(member: Member, matrix: Array, basis: Array) -> Array:
    """Return the lower half of RMR for a symmetric M, in Fortran order, with R² = ρH."""
    prior = member.prior
    # R = √ρ(cI + VEVᵀ), so RMR/ρ = c²M + WVᵀ + VWᵀ with W = cMVE + ½VEVᵀMVE.
    weighted = basis * (prior.roots - prior.rest)
    product = matrix @ weighted
    side = prior.rest * product + 0.5 * weighted @ (basis.T @ product)
    half = np.asfortranarray(member.ratio * prior.rest**2 * matrix)
    result: Array = blas.dsyr2k(member.ratio, side.T, basis.T, beta=1.0, c=half, trans=1, lower=1, overwrite_c=1)
    return result


def _times_prior(member: Member, vectors: Array, basis: Array) -> Array:
    """Return vectors times H."""
    prior = member.prior
    excess = prior.roots**2 - prior.rest**2
    return np.asarray(prior.rest**2 * vectors + ((vectors @ basis) * excess) @ basis.T)
