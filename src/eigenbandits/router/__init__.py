"""A router for language models: which model answers which prompt, under a budget, learned from feedback."""

from eigenbandits.router.litellm_strategy import LiteLLMStrategy
from eigenbandits.router.models import Model
from eigenbandits.router.prompts import MiniLM
from eigenbandits.router.router import Route, Router
from eigenbandits.router.served import ServedRouter, fitted_basis

__all__ = ["LiteLLMStrategy", "MiniLM", "Model", "Route", "Router", "ServedRouter", "fitted_basis"]
