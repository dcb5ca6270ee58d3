(** That hypotheses hold together at a point: sizes are numbers there, mostly 1, and tensors constant. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Laws Matrices.
Open Scope R_scope.

Lemma sum_of_one : forall f, sum_lt 1 f = f 0%Z.
Proof. intro f; unfold sum_lt; change (Z.to_nat 1) with 1%nat; cbn [sumN]; change (Z.of_nat 0) with 0%Z; ring. Qed.

Lemma max_of_one : forall f, max_lt 1 f = f 0%Z.
Proof. intro f; reflexivity. Qed.

Lemma one_is_unique : forall f, unique_max 1 f.
Proof. intros f; exists 0%Z; split; [lia | intros; lia]. Qed.

Lemma one_is_distinct : forall f, distinct_lt 1 f.
Proof. intros f; unfold distinct_lt; intros; lia. Qed.

Lemma one_is_invertible : forall a : matrix, a 0%Z 0%Z <> 0 -> invertible 1 a.
Proof.
  intros a N; exists (fun _ _ => / a 0%Z 0%Z); split; intros i j Hi Hj;
    replace i with 0%Z by lia; replace j with 0%Z by lia; rewrite sum_of_one; simpl; field; exact N.
Qed.

Lemma one_is_positive : forall a : matrix, 0 < a 0%Z 0%Z -> positive_definite 1 a.
Proof.
  intros a P v [i [Hi N]]; replace i with 0%Z in N by lia; rewrite !sum_of_one.
  assert (0 < v 0%Z * v 0%Z) by (apply Rsqr_pos_lt in N; exact N).
  replace (v 0%Z * a 0%Z 0%Z * v 0%Z) with (v 0%Z * v 0%Z * a 0%Z 0%Z) by ring; apply Rmult_lt_0_compat; assumption.
Qed.

Ltac whole_parts :=
  repeat match goal with |- context [floor ?a] => first
    [ rewrite (floor_unique a 0) by lra | rewrite (floor_unique a (-1)) by lra | rewrite (floor_unique a 1) by lra ] end.

Ltac numbers_hold :=
  rewrite ?sum_of_one, ?max_of_one; cbv beta iota;
  rewrite ?exp_0, ?cos_0, ?sin_0, ?Rabs_R0, ?Rmult_0_l, ?Rmult_0_r, ?Rplus_0_l, ?Rplus_0_r;
  first [ exact I | lia | lra | nra | (whole_parts; lra) | (rewrite ?sqrt_0, ?sqrt_1; lra) ].

(** A choice between numbers is made. *)
Ltac choices_made :=
  repeat match goal with |- context [if ?c then _ else _] =>
    first [ rewrite (Rltb_true _ _) by lra | rewrite (Rltb_false _ _) by lra | destruct c; try (exfalso; lia) ] end.

Ltac can_hold :=
  cbv beta zeta iota;
  repeat match goal with |- _ /\ _ => split end; intros; single_indices;
  repeat match goal with H : _ /\ _ |- _ => destruct H end; cbv beta iota zeta;
  first
    [ numbers_hold
    | apply one_is_unique
    | apply one_is_distinct
    | (apply one_is_invertible; lra)
    | (apply one_is_positive; lra)
    | (left; numbers_hold)
    | (right; numbers_hold)
    | unique_there
    | (choices_made; numbers_hold)
    | (rewrite ?sum_of_one, ?max_of_one; choices_made; numbers_hold) ]
with unique_there :=
  lazymatch goal with
  | |- unique_at (fun '(_, _) => _) _ =>
      exists (0%Z, 0%Z); split; [repeat split; lia | intros [? ?] ?; repeat match goal with H : _ /\ _ |- _ => destruct H end; intros;
        first [exfalso; lia | (match goal with N : _ <> _ |- _ => exfalso; apply N; f_equal; lia end)]]
  | |- unique_at _ _ => exists 0%Z; split; [repeat split; lia | intros; lia]
  end.
