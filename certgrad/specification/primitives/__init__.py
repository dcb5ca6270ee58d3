"""One rule a primitive, one concept a file: `rule.RULES` and `rule.STRUCTURED` load them as they are asked for."""
