(** The tactics by which printed theorems are proved. A tactic that fails says nothing of the theorem. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions.
Open Scope R_scope.

(** * Hypotheses about every entry, at the entries at hand *)

Ltac have_at prf :=
  let P := type of prf in let P' := eval cbv beta in P in
  lazymatch goal with | _ : P' |- _ => fail | _ => assert P' by exact prf end.

Ltac at_entries :=
  repeat match goal with
  | H : forall i : Z, (0 <= i < ?n)%Z -> _, K : (0 <= ?j < ?n)%Z |- _ =>
      let P := type of (H j K) in let P' := eval cbv beta in P in
      lazymatch goal with | _ : P' |- _ => fail | _ => assert P' by exact (H j K) end
  | H : forall i j : Z, (0 <= i < ?n)%Z -> (0 <= j < ?m)%Z -> _, K : (0 <= ?a < ?n)%Z, L : (0 <= ?b < ?m)%Z |- _ =>
      have_at (H a b K L)
  | H : forall i j k : Z, (0 <= i < ?n)%Z -> (0 <= j < ?m)%Z -> (0 <= k < ?p)%Z -> _,
    K : (0 <= ?a < ?n)%Z, L : (0 <= ?b < ?m)%Z, M : (0 <= ?c < ?p)%Z |- _ => have_at (H a b c K L M)
  end.

(** The same at the entries that the goal reads, whatever their indices are. *)
Ltac inside := first [assumption | lia | nia].

Ltac at_terms :=
  repeat match goal with
  | H : forall i : Z, (0 <= i < _)%Z -> _ |- context [?x ?a] =>
      is_var x; lazymatch type of a with Z => idtac end; have_at (H a ltac:(inside))
  | H : forall i j : Z, (0 <= i < _)%Z -> (0 <= j < _)%Z -> _ |- context [?x ?a ?b] =>
      is_var x; have_at (H a b ltac:(inside) ltac:(inside))
  | H : forall i j k : Z, (0 <= i < _)%Z -> (0 <= j < _)%Z -> (0 <= k < _)%Z -> _ |- context [?x ?a ?b ?c] =>
      is_var x; have_at (H a b c ltac:(inside) ltac:(inside) ltac:(inside))
  | H : forall i j k l : Z, (0 <= i < _)%Z -> (0 <= j < _)%Z -> (0 <= k < _)%Z -> (0 <= l < _)%Z -> _
    |- context [?x ?a ?b ?c ?d] =>
      is_var x; have_at (H a b c d ltac:(inside) ltac:(inside) ltac:(inside) ltac:(inside))
  | H : forall i j k l m : Z, (0 <= i < _)%Z -> (0 <= j < _)%Z -> (0 <= k < _)%Z -> (0 <= l < _)%Z -> (0 <= m < _)%Z -> _
    |- context [?x ?a ?b ?c ?d ?e] =>
      is_var x; have_at (H a b c d e ltac:(inside) ltac:(inside) ltac:(inside) ltac:(inside) ltac:(inside))
  end.

Ltac hypotheses :=
  at_entries; at_terms;
  repeat match goal with
  | H : ?P |- _ =>
      lazymatch P with
      | (0 <= _ < _)%Z => fail
      | _ /\ _ => destruct H
      end
  end.

(** * Cases *)

(** Comparisons of quotients without the quotient. *)
Lemma Rltb_div_l : forall a b c, 0 < b -> Rltb (a / b) c = Rltb a (c * b).
Proof.
  intros a b c H; assert (E : a / b * b = a) by (field; lra).
  destruct (Rltb_spec (a / b) c), (Rltb_spec a (c * b)); reflexivity || (exfalso; nra).
Qed.

Lemma Rltb_div_r : forall a b c, 0 < b -> Rltb c (a / b) = Rltb (c * b) a.
Proof.
  intros a b c H; assert (E : a / b * b = a) by (field; lra).
  destruct (Rltb_spec c (a / b)), (Rltb_spec (c * b) a); reflexivity || (exfalso; nra).
Qed.

Ltac decide_bool c :=
  lazymatch c with
  | context [if ?d then _ else _] => decide_bool d
  | Rltb 0 (sqrt ?a) => first
      [ rewrite (Rltb_true 0 (sqrt a)) by (apply sqrt_lt_R0; first [assumption | lra])
      | destruct (Rltb_spec 0 (sqrt a)) ]
  | Reqb (sqrt ?a) 0 => first
      [ rewrite (Reqb_false (sqrt a) 0) by (apply Rgt_not_eq, sqrt_lt_R0; first [assumption | lra])
      | destruct (Reqb_spec (sqrt a) 0) ]
  | Rltb (?a / ?b) ?v => first
      [ rewrite (Rltb_div_l a b v) by first [assumption | lra]; destruct (Rltb_spec a (v * b))
      | destruct (Rltb_spec (a / b) v) ]
  | Rltb ?v (?a / ?b) => first
      [ rewrite (Rltb_div_r a b v) by first [assumption | lra]; destruct (Rltb_spec (v * b) a)
      | destruct (Rltb_spec v (a / b)) ]
  | Rltb ?a ?b => destruct (Rltb_spec a b)
  | Rleb ?a ?b => destruct (Rleb_spec a b)
  | Reqb ?a ?b => destruct (Reqb_spec a b)
  | (?a <? ?b)%Z => destruct (Z.ltb_spec a b)
  | (?a <=? ?b)%Z => destruct (Z.leb_spec a b)
  | (?a =? ?b)%Z => destruct (Z.eqb_spec a b)
  | (?p && ?q)%bool => first [decide_bool p | decide_bool q]
  | (?p || ?q)%bool => first [decide_bool p | decide_bool q]
  | negb ?p => decide_bool p
  | _ => tryif is_var c then destruct c else destruct c eqn:?
  end.

Ltac reduce := cbn [andb orb negb] in *; cbv beta iota.

Ltac absurd_case := exfalso; first [contradiction | lia | lra].

Ltac split_cases :=
  repeat (match goal with
          | |- context [if ?c then _ else _] => decide_bool c
          end; reduce; try absurd_case).

(** No whole number, because another number is none that differs from it, or from its opposite, by a whole one. *)
Lemma whole : forall b z, b = IZR z -> b = IZR (floor b).
Proof. intros b z ->; rewrite (floor_unique (IZR z) z); [reflexivity|lra]. Qed.

Ltac not_whole side :=
  lazymatch goal with |- ?a <> IZR (floor ?a) =>
    let E := fresh in intro E;
    match goal with H : ?b <> IZR (floor ?b) |- _ =>
      apply H;
      first [ apply (whole b (floor a)); lra
            | apply (whole b (floor a)); rewrite <- E; field; side
            | apply (whole b (- floor a)); rewrite opp_IZR; lra
            | apply (whole b (floor a - 1)); rewrite minus_IZR; lra
            | apply (whole b (floor a + 1)); rewrite plus_IZR; lra ]
    end
  end.

(** What is not equal is less or greater. *)
Ltac split_unequal :=
  repeat match goal with
  | H : ?a <> ?b |- _ => lazymatch type of a with R => destruct (Rdichotomy a b H); clear H end
  end.

(** * Signs *)

Ltac index_fact := first [assumption | lia].

Lemma ln_pos : forall x, 1 < x -> 0 < ln x.
Proof. intros x H; rewrite <- ln_1; apply ln_increasing; lra. Qed.

Lemma exp_above_1 : forall x, 0 < x -> 1 < exp x.
Proof. intros x H; rewrite <- exp_0; apply exp_increasing, H. Qed.

Lemma exp_below_1 : forall x, x < 0 -> exp x < 1.
Proof. intros x H; rewrite <- exp_0; apply exp_increasing, H. Qed.

Lemma square_above : forall x, x <> 0 -> 0 < x ^ 2.
Proof. intros x H; assert (K := Rsqr_pos_lt x H); unfold Rsqr in K; simpl; lra. Qed.

(** Sums with equal terms. *)
Ltac alike :=
  lazymatch goal with
  | |- sum_lt ?n _ = sum_lt ?n _ => apply sum_ext; intros; alike
  | |- _ => ring
  end.

Lemma above_if_not_0 : forall a b, a <> 0 -> a = b -> 0 <= b -> 0 < b.
Proof. intros a b N -> H; destruct H; [assumption | congruence]. Qed.

(** Goals [0 < e] and [0 <= e], by the form of [e]: one way down for each form, so that a failure comes soon. *)
Ltac above :=
  cbv beta;
  lazymatch goal with
  | |- 0 < (if ?c then _ else _) => decide_bool c; reduce; above
  | |- 0 < exp _ => apply exp_pos
  | |- 0 < cosh _ => apply cosh_pos
  | |- 0 < PI => apply PI_RGT_0
  | |- 0 < IZR ?z => first [apply (IZR_lt 0); index_fact | lra]
  | |- 0 < sqrt _ => apply sqrt_lt_R0; above
  | |- 0 < ln _ => apply ln_pos; first [lra | (apply exp_above_1; above)]
  | |- 0 < Rabs _ => apply Rabs_pos_lt; apart
  | |- 0 < / _ => apply Rinv_0_lt_compat; above
  | |- 0 < _ / _ => first [apply Rdiv_lt_0_compat; above | lra]
  | |- 0 < ?a * ?a => first [assumption | apply Rsqr_pos_lt; apart]
  | |- 0 < ?a ^ 2 => apply square_above; apart
  | |- 0 < _ ^ _ => apply pow_lt; above
  | |- 0 < zpow _ _ => apply zpow_pos; above
  | |- 0 < rpow _ _ => apply rpow_pos; above
  | |- 0 < _ * _ => first [apply Rmult_lt_0_compat; above | assumption | lra]
  | |- 0 < sum_lt _ _ => first
      [ assumption
      | match goal with H : sum_lt _ _ <> 0 |- _ => apply (above_if_not_0 _ _ H); [alike | not_below] end
      | apply sum_pos; [index_fact | intros; hypotheses; above] ]
  | |- 0 < _ + _ => first [assumption | (apply Rplus_lt_le_0_compat; [above | not_below])
                          | (apply Rplus_le_lt_0_compat; [not_below | above]) | lra]
  | |- 0 < _ => first [assumption | lra]
  end
with not_below :=
  cbv beta;
  lazymatch goal with
  | |- 0 <= (if ?c then _ else _) => decide_bool c; reduce; not_below
  | |- 0 <= exp _ => apply Rlt_le, exp_pos
  | |- 0 <= cosh _ => apply Rlt_le, cosh_pos
  | |- 0 <= IZR _ => first [apply (IZR_le 0); index_fact | lra]
  | |- 0 <= sqrt _ => apply sqrt_pos
  | |- 0 <= Rabs _ => apply Rabs_pos
  | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; above
  | |- 0 <= _ / _ => first [apply Rdiv_le_0_compat; [not_below | above] | lra]
  | |- 0 <= ?a * ?a => apply Rle_0_sqr
  | |- 0 <= ?a ^ 2 => apply pow2_ge_0
  | |- 0 <= _ ^ _ => apply pow_le; not_below
  | |- 0 <= zpow _ _ => apply Rlt_le, zpow_pos; above
  | |- 0 <= rpow _ _ => apply rpow_not_below
  | |- 0 <= _ * _ => first [apply Rmult_le_pos; not_below | assumption | lra]
  | |- 0 <= sum_lt _ _ => first [assumption | apply sum_nonneg; intros; hypotheses; not_below]
  | |- 0 <= _ + _ => first [apply Rplus_le_le_0_compat; not_below | assumption | lra]
  | |- 0 <= _ => first [assumption | lra | apply Rlt_le; assumption]
  end
with apart :=
  cbv beta;
  lazymatch goal with
  | |- _ * _ <> 0 => first [assumption | apply Rmult_integral_contrapositive_currified; apart]
  | |- / _ <> 0 => apply Rinv_neq_0_compat; apart
  | |- _ / _ <> 0 => first [unfold Rdiv; apply Rmult_integral_contrapositive_currified; apart | lra]
  | |- - _ <> 0 => first [apply Ropp_neq_0_compat; apart]
  | |- _ ^ _ <> 0 => apply pow_nonzero; apart
  | |- cbrt _ <> 0 => apply cbrt_not_0; apart
  | |- IZR _ <> 0 => first [apply not_0_IZR; index_fact | lra]
  | |- ?a <> 0 => first [assumption | apply Rgt_not_eq; red; above | apply Rlt_not_eq; lra | lra]
  | |- ?a <> ?b => first [assumption | apply Rminus_not_eq; apart]
  end.

Ltac positive :=
  cbv beta;
  lazymatch goal with
  | |- _ /\ _ => split; positive
  | |- 0 < _ => above
  | |- 0 <= _ => not_below
  | |- - _ < 0 => apply Ropp_lt_gt_0_contravar; red; above
  | |- _ <> _ => apart
  | |- _ < _ => first [assumption | lra | apply Rminus_lt_0; above]
  | |- _ <= _ => first [assumption | lra | apply Rminus_le_0; not_below]
  | |- _ => assumption
  end.

(** What tells of exponentials: that they are positive, and on which side of 1, so that linear arithmetic knows. *)
Ltac know_exponentials :=
  repeat match goal with
  | |- context [exp ?a] => lazymatch goal with | _ : 0 < exp a |- _ => fail | _ => idtac end;
      assert (0 < exp a) by apply exp_pos;
      try (first [ assert (1 < exp a) by (apply exp_above_1; lra)
                 | assert (exp a < 1) by (apply exp_below_1; lra) ])
  end.

(** A root is above what is not positive, or of which the square is less. *)
Lemma root_above : forall a x, x * x < a -> 0 < sqrt a - x.
Proof.
  intros a x H; destruct (Rlt_dec x 0) as [L|L]; [assert (S := sqrt_pos a); lra|].
  assert (x < sqrt a); [|lra].
  rewrite <- (sqrt_square x) by lra; apply sqrt_lt_1; nra.
Qed.

Lemma root_above_opp : forall a x, x * x < a -> 0 < x + sqrt a.
Proof. intros a x H; assert (K := root_above a (- x) ltac:(nra)); lra. Qed.

Ltac know_roots :=
  repeat match goal with
  | |- context [sqrt ?a] => lazymatch goal with | _ : 0 <= sqrt a |- _ => fail | _ => idtac end;
      assert (0 <= sqrt a) by apply sqrt_pos;
      try (assert (sqrt a * sqrt a = a) by (apply sqrt_sqrt; first [lra | not_below | nra]))
  end.

(** Sums with equal terms, in hypotheses and in the goal. *)
Ltac know_sums :=
  repeat match goal with
  | H : context [sum_lt ?n ?f] |- context [sum_lt ?n ?g] =>
      tryif constr_eq f g then fail else
        let E := fresh "E" in
        assert (E : sum_lt n f = sum_lt n g) by alike; rewrite E in H; clear E
  | H : context [sum_lt ?n ?f], K : context [sum_lt ?n ?g] |- _ =>
      tryif constr_eq f g then fail else
        let E := fresh "E" in
        assert (E : sum_lt n f = sum_lt n g) by alike; rewrite E in H; clear E
  end.

(** Not 0, because a multiple is not 0. *)
Ltac multiple := match goal with H : ?a <> ?b |- ?c <> ?d => let E := fresh "E" in intro E; apply H; lra end.

Ltac side :=
  intros; cbv beta in *; hypotheses; split_cases;
  repeat match goal with |- _ /\ _ => split end;
  first [ assumption
        | index_fact
        | lra
        | not_whole ltac:(first [assumption | lra | apart])
        | match goal with H : ?b <> IZR (floor ?b) \/ ?b = 0 |- ?a = 0 \/ ?a <> IZR (floor ?a) =>
            replace a with b by (field; apart); destruct H; [right | left]; assumption end
        | positive
        | (apply Rgt_not_eq; red; first [apply root_above | apply root_above_opp]; first [lra | nra])
        | multiple
        | split_unequal; first [lra | nra | positive]
        | (progress know_sums); first [lra | multiple | (split_unequal; lra) | positive]
        | know_exponentials; first [lra | nra]
        | split_unequal; know_exponentials; first [lra | (apply Rgt_not_eq; lra) | (apply Rlt_not_eq; lra)]
        | know_roots; nra
        | nra ].

(** * Equations of reals *)

Ltac normalise_exponentials :=
  unfold tanh, sinh, cosh, Rminus, Rdiv;
  rewrite ?Ropp_mult_distr_l;
  repeat first
    [ rewrite exp_plus
    | rewrite exp_Ropp
    | rewrite exp_0
    | rewrite exp_ln by side ].

(** Exponentials of multiples of one argument, as powers. *)
Lemma exp_twice : forall a b, b = 2 * a -> exp b = exp a * exp a.
Proof. intros a b ->; rewrite <- exp_plus; f_equal; ring. Qed.

Lemma exp_opposite : forall a b, b = - a -> exp b = / exp a.
Proof. intros a b ->; apply exp_Ropp. Qed.

Lemma exp_opposite_twice : forall a b, b = - (2 * a) -> exp b = / (exp a * exp a).
Proof. intros a b ->; rewrite exp_Ropp; f_equal; apply exp_twice; reflexivity. Qed.

Ltac relate_exponentials :=
  repeat match goal with
  | |- context [exp ?a] => match goal with
      | |- context [exp ?b] =>
          tryif constr_eq a b then fail else
          first [ rewrite (exp_opposite a b) by (first [ring | (field; side)])
                | rewrite (exp_twice a b) by (first [ring | (field; side)])
                | rewrite (exp_opposite_twice a b) by (first [ring | (field; side)]) ]
      end
  end.

(** Sines and cosines of twice an argument that stands beside it. *)
Lemma sin_twice : forall a b, b = 2 * a -> sin b = 2 * sin a * cos a.
Proof. intros a b ->; apply sin_2a. Qed.

Lemma cos_twice : forall a b, b = 2 * a -> cos b = cos a * cos a - sin a * sin a.
Proof. intros a b ->; apply cos_2a. Qed.

Ltac relate_angles :=
  match goal with
  | |- context [sin ?b] => match goal with
      | |- context [sin ?a] => tryif constr_eq a b then fail else rewrite (sin_twice a b) by (first [ring | (field; side)]) end
  | |- context [cos ?b] => match goal with
      | |- context [cos ?a] => tryif constr_eq a b then fail else rewrite (cos_twice a b) by (first [ring | (field; side)]) end
  end.

(** Squares of roots. *)
Ltac root_squares :=
  repeat match goal with
  | |- context [sqrt ?a] =>
      lazymatch goal with | _ : sqrt a * sqrt a = a |- _ => fail
      | _ => assert (sqrt a * sqrt a = a) by (apply sqrt_sqrt; side) end
  end.

Ltac field_with_roots :=
  root_squares;
  match goal with
  | A : sqrt ?a * sqrt ?a = _, B : sqrt ?b * sqrt ?b = _, C : sqrt ?c * sqrt ?c = _ |- _ => field [A B C]; side
  | A : sqrt ?a * sqrt ?a = _, B : sqrt ?b * sqrt ?b = _ |- _ => field [A B]; side
  | A : sqrt ?a * sqrt ?a = _ |- _ => field [A]; side
  end.

Ltac same_argument f := f_equal; first [ring | (field; side) | field_with_roots].

Definition this_one (f : R -> R) (x : R) := f x.
Definition set_aside (f : R -> R) (x : R) := f x.

(** Each argument of [f] with those that are left, once, however often it stands there. *)
Ltac unify_arguments f :=
  repeat match goal with |- context [f ?a] =>
    change (f a) with (this_one f a);
    repeat match goal with |- context [f ?b] =>
      first [replace (f b) with (this_one f a) by (unfold this_one; same_argument f) | change (f b) with (set_aside f b)]
    end;
    unfold set_aside
  end;
  unfold this_one.

(** The root of a product, where the roots of the factors stand beside it. *)
Ltac split_roots :=
  repeat match goal with
  | |- context [sqrt ?c] => match goal with
      | |- context [sqrt ?a] => match goal with
          | |- context [sqrt ?b] =>
              tryif first [constr_eq a c | constr_eq b c] then fail else
              replace (sqrt c) with (sqrt a * sqrt b) by (rewrite <- sqrt_mult by side; f_equal; ring)
          end
      end
  end.

Lemma four_atan_1 : 4 * atan 1 = PI.
Proof. rewrite atan_1; field. Qed.

(** Values of functions at what they are often at. *)
Ltac values := rewrite ?four_atan_1, ?atan_1, ?exp_0, ?ln_1, ?sqrt_0, ?sqrt_1.

(** Cubes of cube roots. *)
Ltac field_with_cubes :=
  match goal with |- context [cbrt ?a] =>
    let C := fresh in assert (C : cbrt a * cbrt a * cbrt a = a) by (rewrite <- (cbrt_cubed a) at 4; ring);
    first [field [C]; side | (rewrite <- C at 1; field; side) | (rewrite <- C; field; side)]
  end.

(** What two bounds leave one value for. *)
Ltac pinched :=
  progress repeat match goal with
  | H : ~ ?a < ?b |- _ => assert (a = b) by lra; clear H
  | H : ~ ?a <= ?b |- _ => clear H
  end;
  match goal with
  | A : ?a = ?b |- _ => first [ ring [A] | field [A]; side
                              | (is_var b; rewrite <- A; field; side) | (is_var a; rewrite A; field; side) ]
  end.

Ltac is_entry x := lazymatch x with ?y _ => is_entry y | _ => is_var x end.

(** An equation of numbers without an entry that it gives. *)
Ltac substituted E :=
  lazymatch type of E with ?a = ?b =>
    match goal with |- context [?x ?i] =>
      is_entry x; lazymatch type of (x i) with R => idtac end;
      lazymatch constr:((a, b)) with context [x i] => idtac end;
      let U := fresh "U" in
      first [assert (U : x i = x i - (a - b)) by lra | assert (U : x i = x i + (a - b)) by lra];
      ring_simplify in U;
      lazymatch type of U with _ = ?e => lazymatch e with context [x i] => fail | _ => idtac end end;
      rewrite U; first [ring | (field; side) | lra]
    end
  end.

(** What two bounds leave one value for, of an entry among others. *)
Ltac pinned :=
  match goal with
  | H : ?a <= ?b |- _ => let E := fresh in assert (E : a = b) by lra; substituted E
  | H : ~ ?a < ?b |- _ => let E := fresh in assert (E : a = b) by lra; substituted E
  end.

Ltac equation :=
  cbv beta; hypotheses; split_cases; values;
  first [ reflexivity
        | ring
        | lra
        | pinned
        | field; side
        | pinched
        | field_with_roots
        | (unify_arguments sqrt; first [ring | (field; side) | field_with_roots])
        | (unify_arguments exp; first [ring | (field; side) | field_with_roots])
        | (unify_arguments ln; first [ring | (field; side) | field_with_roots])
        | (unfold tanh, sinh, cosh; unify_arguments exp; relate_exponentials; field; side)
        | (normalise_exponentials; unify_arguments exp; field; side)
        | (relate_angles; first [ring | (field; side)])
        | (split_roots; first [ring | (field; side) | field_with_roots])
        | field_with_cubes
        | (rewrite !rpow_less_1 by side; field; side)
        | (rewrite !rpow_exp by side; unify_arguments exp; relate_exponentials; field; side)
        | (unfold trunc; split_cases; first [ring | field; side])
        | nra ].
