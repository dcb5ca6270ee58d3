(** All of the library: what printed files require. *)

From Certgrad Require Export Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels Bilinear Entries Composed Defined Matrices Systems Windows Recurrences Order Points.
