(** Where programs are defined: conditions by form, each part at the entries that it is about. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Prefixes Tactics Derivatives Algebra Laws Axes Labels Bilinear Composed.
Open Scope R_scope.

(** The same condition, said in another order. *)
Ltac said_otherwise :=
  split_or; first [ left; first [assumption | apply not_eq_sym; assumption]
                  | right; first [assumption | apply not_eq_sym; assumption] ].

Ltac condition_law :=
  first
    [ index_law
    | side
    | solve [said_otherwise]
    | (rewrite floor_IZR; reflexivity)
    | (progress values; side)
    | (left; solve [condition_law])
    | (right; solve [condition_law]) ].

(** An index is inside its range. *)
Ltac index_inside :=
  first
    [ index_law
    | solve [rewrite ?Z.div_1_r, ?Z.mul_1_l, ?Z.mul_1_r; quotients_of_products; place_in_range]
    | (hypotheses; index_law)
    | (hypotheses; split_guards; index_law) ].

Ltac choose :=
  lazymatch goal with |- if ?c then _ else _ => decide_bool c; reduce; try absurd_index end.

(** * Under a mask *)

Lemma any_lt_true : forall n p, (exists k, (0 <= k < n)%Z /\ p k = true) -> any_lt n p = true.
Proof.
  intros n p [k [Hk Pk]]; unfold any_lt, all_lt; apply Bool.negb_true_iff, Bool.not_true_is_false; intro A.
  assert (B : forall m, allN m (fun i => negb (p (Z.of_nat i))) = true -> forall j, (j < m)%nat -> p (Z.of_nat j) = false).
  { induction m as [|m IH]; intros G j L; [lia|]; cbn [allN] in G; apply andb_prop in G; destruct G as [G1 G2].
    destruct (Nat.eq_dec j m) as [->|]; [apply Bool.negb_true_iff; assumption | apply IH; [exact G1 | lia]]. }
  specialize (B _ A (Z.to_nat k) ltac:(lia)); rewrite Z2Nat.id in B by lia; congruence.
Qed.

Ltac defined_everywhere :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (_ <= _ < _)%Z => first [assumption | (tidy_indices; index_inside)]
  | |- _ /\ _ => split; defined_everywhere
  | |- forall _, _ => intro; defined_everywhere
  | |- any_lt _ _ = true => apply any_lt_true; some_kept
  | |- (_ <=? _)%Z = true => apply Z.leb_le; lia
  | |- _ = true => first [reflexivity | assumption]
  | |- exists i, (0 <= i < _)%Z /\ _ = true => some_kept
  | |- ~ (sum_lt _ (fun k => if @?p k then exp (@?s k - ?m) else 0) = 0) =>
      apply Rgt_not_eq, (masked_sum_pos _ p s m); some_kept
  | |- ~ (sum_lt ?n (fun k => if (if (k <=? ?i)%Z then Rleb (max_lt _ _) (@?x k) else false) then 1 else 0) = 0) =>
      apply (prefix_max_marked n i x); lia
  | |- ~ (sum_lt ?n (fun k => if (if (k <=? ?i)%Z then Rleb (@?x k) (min_lt _ _) else false) then 1 else 0) = 0) =>
      apply (prefix_min_marked n i x); lia
  | |- if true then _ else _ => cbv iota; defined_everywhere
  | |- if Rltb (sum_lt _ _) 0 then _ else _ => first [no_choice_by_sign | choose]; defined_everywhere
  | |- if _ then _ else _ => tidy_indices; choose; defined_everywhere
  | |- exists i, (0 <= i < _)%Z /\ True => exists 0%Z; split; [index_law | exact I]
  | |- _ <> _ :> Z => first [index_law | (progress quotients_of_products; lia) | apply not_eq_sym, Z.lt_neq; product_above]
  | |- _ <> _ :> R => hypotheses; first [side | (progress values; side) | (rewrite ?mult_IZR; side)]
  | |- ~ _ => intro; hypotheses; first [absurd_index | lra]
  | |- _ => hypotheses; condition_law
  end.
