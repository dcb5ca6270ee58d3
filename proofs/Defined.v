(** Where programs are defined: conditions by form, each part at the entries that it is about. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Maxima Functions Tactics Algebra Axes.
Open Scope R_scope.

Ltac condition_law :=
  first
    [ index_law
    | side
    | (left; solve [condition_law])
    | (right; solve [condition_law]) ].

Ltac defined_everywhere :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (_ <= _ < _)%Z => first [index_law | (split_guards; index_law)]
  | |- _ /\ _ => split; defined_everywhere
  | |- forall _, _ => intro; defined_everywhere
  | |- if ?c then _ else _ => decide_bool c; reduce; try absurd_index; defined_everywhere
  | |- exists i, (0 <= i < _)%Z /\ True => exists 0%Z; split; [index_law | exact I]
  | |- _ <> _ :> Z => index_law
  | |- _ <> _ :> R => hypotheses; side
  | |- ~ _ => intro; hypotheses; first [absurd_index | lra]
  | |- _ => hypotheses; condition_law
  end.
