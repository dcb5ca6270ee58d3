"""Processes that audit the rules of targets, and what is served of earlier audits."""
