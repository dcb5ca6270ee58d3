"""Terms and hypotheses in words, as text and as LaTeX. Nothing below reads what is written here."""
