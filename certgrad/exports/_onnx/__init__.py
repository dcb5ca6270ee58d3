"""Certified graphs as ONNX models."""
