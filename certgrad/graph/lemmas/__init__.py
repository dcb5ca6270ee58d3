"""Lemmas: one operation with its parameters, proved for all sizes of its dimensions."""
