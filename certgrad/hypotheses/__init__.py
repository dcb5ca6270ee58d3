"""Hypotheses: statements about real numbers as one typed tree, with one parser, printers and one evaluator."""
