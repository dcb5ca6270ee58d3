"""Processes that audit the rules of targets, and results of earlier audits that are served."""
