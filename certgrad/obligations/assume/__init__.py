"""What is assumed and what follows from it: conditions, signs and linear arithmetic, index sets in isl, entailment."""
