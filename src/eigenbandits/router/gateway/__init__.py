"""A gateway that speaks the OpenAI chat API: picks a model for each request, passes its answer on, takes feedback."""

from eigenbandits.router.gateway.application import application
from eigenbandits.router.gateway.config import Config, UpstreamConfig

__all__ = ["Config", "UpstreamConfig", "application"]
