(** The functions of the specification that Coq's library does not have under that name, each by what defines it. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise.
Open Scope R_scope.

(** ** Inverse hyperbolic functions *)

Definition asinh (x : R) : R := arcsinh x.
Definition acosh (x : R) : R := ln (x + sqrt (x * x - 1)).
Definition atanh (x : R) : R := ln ((1 + x) / (1 - x)) / 2.

Lemma asinh_inverts : forall x, sinh (asinh x) = x.
Proof. exact sinh_arcsinh. Qed.

Lemma dual_asinh : forall f a b, dual f a b -> dual (fun t => asinh (f t)) (asinh a) (b * / sqrt (1 + a * a)).
Proof.
  intros f a b H; apply (dual_chain asinh f a b (/ sqrt (1 + a * a)) H).
  apply is_derive_Reals; replace (1 + a * a) with (a ^ 2 + 1) by ring; apply derivable_pt_lim_arcsinh.
Qed.

Lemma dual_acosh : forall f a b, dual f a b -> 1 < a -> dual (fun t => acosh (f t)) (acosh a) (b * / sqrt (a * a - 1)).
Proof.
  intros f a b H Ha; unfold acosh.
  assert (P : 0 < a * a - 1) by nra.
  assert (Q := sqrt_lt_R0 _ P).
  eapply dual_eq; [apply dual_ln; [apply dual_plus; [exact H|apply dual_sqrt; [|exact P]]|]|reflexivity|].
  - apply dual_minus; [apply dual_mult; exact H|apply dual_const].
  - lra.
  - field; split; lra.
Qed.

Lemma dual_atanh : forall f a b, dual f a b -> -1 < a < 1 -> dual (fun t => atanh (f t)) (atanh a) (b * / (1 - a * a)).
Proof.
  intros f a b H Ha; unfold atanh.
  eapply dual_eq; [apply dual_div; [apply dual_ln; [apply dual_div|]|apply dual_const|]|reflexivity|].
  - apply dual_plus; [apply dual_const|exact H].
  - apply dual_minus; [apply dual_const|exact H].
  - lra.
  - apply Rdiv_lt_0_compat; lra.
  - lra.
  - field; repeat split; nra.
Qed.

(** ** Cube root: the number whose cube is x *)

Definition cbrt (x : R) : R :=
  if Rltb 0 x then exp (ln x / 3) else if Rltb x 0 then - exp (ln (- x) / 3) else 0.

Lemma exp_third : forall y, 0 < y -> exp (ln y / 3) ^ 3 = y.
Proof.
  intros y H; replace (exp (ln y / 3) ^ 3) with (exp (ln y / 3 + ln y / 3 + ln y / 3)) by (rewrite !exp_plus; ring).
  replace (ln y / 3 + ln y / 3 + ln y / 3) with (ln y) by field; apply exp_ln, H.
Qed.

Lemma cbrt_cubed : forall x, cbrt x ^ 3 = x.
Proof.
  intro x; unfold cbrt; destruct (Rltb_spec 0 x); [apply exp_third; assumption|].
  destruct (Rltb_spec x 0); [|replace x with 0 by lra; ring].
  replace ((- exp (ln (- x) / 3)) ^ 3) with (- (exp (ln (- x) / 3) ^ 3)) by ring; rewrite exp_third; lra.
Qed.

Lemma cbrt_not_0 : forall x, x <> 0 -> cbrt x <> 0.
Proof. intros x H E; assert (K := cbrt_cubed x); rewrite E in K; simpl in K; lra. Qed.

Lemma dual_cbrt : forall f a b, dual f a b -> a <> 0 -> dual (fun t => cbrt (f t)) (cbrt a) (b * (cbrt a / (3 * a))).
Proof.
  intros f a b H N; unfold cbrt.
  destruct (Rdichotomy a 0 N) as [L|L].
  - apply (dual_local (fun t => - exp (ln (- f t) / 3))).
    + generalize (dual_lt _ _ _ _ _ _ H (dual_const 0) L); apply filter_imp; intros t K.
      rewrite (Rltb_false 0 (f t)), (Rltb_true (f t) 0) by lra; reflexivity.
    + rewrite (Rltb_false 0 a), (Rltb_true a 0) by lra.
      eapply dual_eq; [apply dual_opp, dual_exp, dual_div; [apply dual_ln; [apply dual_opp, H|lra]|apply dual_const|lra]
                      |reflexivity|field; lra].
  - apply (dual_local (fun t => exp (ln (f t) / 3))).
    + generalize (dual_lt _ _ _ _ _ _ (dual_const 0) H L); apply filter_imp; intros t K.
      rewrite (Rltb_true 0 (f t)) by lra; reflexivity.
    + rewrite (Rltb_true 0 a) by lra.
      eapply dual_eq; [apply dual_exp, dual_div; [apply dual_ln; [exact H|lra]|apply dual_const|lra]
                      |reflexivity|field; lra].
Qed.

(** ** The error function, as the integral that defines it *)

Definition gauss (t : R) : R := exp (- (t * t)).
Definition erf (x : R) : R := 2 / sqrt PI * RInt gauss 0 x.

Lemma continuous_gauss : forall t, continuous gauss t.
Proof.
  intro t; apply (ex_derive_continuous gauss); unfold gauss; exists (- (2 * t) * exp (- (t * t))).
  auto_derive; [exact I|ring].
Qed.

Lemma is_derive_erf : forall x, is_derive erf x (2 / sqrt PI * exp (- (x * x))).
Proof.
  intro x; unfold erf; apply (is_derive_scal (fun x => RInt gauss 0 x)).
  apply (is_derive_RInt gauss (fun x => RInt gauss 0 x) 0 x).
  - apply filter_forall; intro y; apply (RInt_correct gauss), ex_RInt_continuous; intros; apply continuous_gauss.
  - apply continuous_gauss.
Qed.

Lemma dual_erf : forall f a b, dual f a b -> dual (fun t => erf (f t)) (erf a) (b * (2 / sqrt PI * exp (- (a * a)))).
Proof. intros f a b H; apply (dual_chain erf f a b _ H), is_derive_erf. Qed.

(** ** Functions of which products with exp|x| are known, as Bessel functions that are kept small *)

Lemma Rabs_if : forall x, Rabs x = if Rltb x 0 then - x else x.
Proof. intro x; destruct (Rltb_spec x 0); [apply Rabs_left|apply Rabs_right]; lra. Qed.

Lemma dual_scaled : forall h f a b l,
  dual f a b -> is_derive (fun y => exp (Rabs y) * h y) a (exp (Rabs a) * l) ->
  dual (fun t => exp (if Rltb (f t) 0 then - f t else f t) * h (f t))
       (exp (if Rltb a 0 then - a else a) * h a) (b * (exp (if Rltb a 0 then - a else a) * l)).
Proof.
  intros h f a b l H D; rewrite <- (Rabs_if a).
  apply (dual_ext (fun t => (fun y => exp (Rabs y) * h y) (f t))); [intro t; rewrite Rabs_if; reflexivity|].
  exact (dual_chain (fun y => exp (Rabs y) * h y) f a b _ H D).
Qed.

Lemma is_derive_unscaled : forall h a l,
  a <> 0 -> is_derive (fun y => exp (Rabs y) * h y) a (exp (Rabs a) * l) ->
  is_derive h a (l - (if Rltb a 0 then -1 else 1) * h a).
Proof.
  intros h a l N D.
  apply (is_derive_ext (fun y => exp (- Rabs y) * (exp (Rabs y) * h y))).
  { intro y; rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0; apply Rmult_1_l. }
  assert (E : is_derive (fun y => exp (- Rabs y)) a (exp (- Rabs a) * (if Rltb a 0 then 1 else -1))).
  { apply (is_derive_ext_loc (fun y => if Rltb a 0 then exp y else exp (- y))).
    - destruct (Rltb_spec a 0) as [L|L].
      + assert (P : 0 < - a) by lra; exists (mkposreal _ P); intros y B; apply Rabs_def2 in B; simpl in B.
        unfold minus, plus, opp in B; simpl in B; rewrite Rabs_left, Ropp_involutive by lra; reflexivity.
      + assert (P : 0 < a) by lra; exists (mkposreal _ P); intros y B; apply Rabs_def2 in B; simpl in B.
        unfold minus, plus, opp in B; simpl in B; rewrite Rabs_right by lra; reflexivity.
    - rewrite Rabs_if; destruct (Rltb a 0); auto_derive; try exact I;
        match goal with |- ?x = ?y => change (@eq R x y) end; rewrite ?Ropp_involutive; ring. }
  evar_last; [exact (is_derive_mult _ _ _ _ _ E D Rmult_comm)|].
  match goal with |- ?x = ?y => change (@eq R x y) end; unfold plus, mult; simpl; destruct (Rltb a 0).
  - replace (exp (- Rabs a) * 1 * (exp (Rabs a) * h a) + exp (- Rabs a) * (exp (Rabs a) * l))
      with (exp (- Rabs a) * exp (Rabs a) * (h a + l)) by ring.
    rewrite <- exp_plus, Rplus_opp_l, exp_0; ring.
  - replace (exp (- Rabs a) * -1 * (exp (Rabs a) * h a) + exp (- Rabs a) * (exp (Rabs a) * l))
      with (exp (- Rabs a) * exp (Rabs a) * (l - h a)) by ring.
    rewrite <- exp_plus, Rplus_opp_l, exp_0; ring.
Qed.

(** ** Functions of two numbers that are differentiable in both together *)

Lemma dual_2d : forall h f g a b c d l m,
  dual f a b -> dual g c d -> differentiable_pt_lim h a c l m ->
  dual (fun t => h (f t) (g t)) (h a c) (l * b + m * d).
Proof.
  intros h f g a b c d l m [Hf Df] [Hg Dg] H; split; [rewrite Hf, Hg; reflexivity|].
  apply is_derive_Reals; apply (derivable_pt_lim_comp_2d h f g);
    [rewrite Hf, Hg; exact H|apply is_derive_Reals, Df|apply is_derive_Reals, Dg].
Qed.

(** ** Powers: of a whole exponent by multiplication, else by exp and log *)

(** x to a whole power; for a negative one its reciprocal. *)
Definition zpow (x : R) (n : Z) : R :=
  match n with
  | Z0 => 1
  | Zpos p => x ^ Pos.to_nat p
  | Zneg p => / x ^ Pos.to_nat p
  end.

Lemma zpow_pos : forall x n, 0 < x -> 0 < zpow x n.
Proof.
  intros x [|p|p] H; simpl; [lra|apply pow_lt, H|apply Rinv_0_lt_compat, pow_lt, H].
Qed.

(** x to a power that is no whole number: exp(y·log x) for x > 0, and 0 at 0. *)
Definition rpow (x y : R) : R := if Rltb 0 x then exp (y * ln x) else 0.

Lemma rpow_pos : forall x y, 0 < x -> 0 < rpow x y.
Proof. intros x y H; unfold rpow; rewrite (Rltb_true 0 x H); apply exp_pos. Qed.

Lemma rpow_not_below : forall x y, 0 <= rpow x y.
Proof. intros x y; unfold rpow; destruct (Rltb 0 x); [apply Rlt_le, exp_pos|lra]. Qed.

Lemma rpow_exp : forall x y, 0 < x -> rpow x y = exp (y * ln x).
Proof. intros x y H; unfold rpow; rewrite (Rltb_true 0 x H); reflexivity. Qed.

Lemma rpow_less_1 : forall x y, 0 < x -> rpow x (y - 1) = rpow x y / x.
Proof.
  intros x y H; unfold rpow; rewrite (Rltb_true 0 x H).
  replace ((y - 1) * ln x) with (y * ln x + - ln x) by ring; rewrite exp_plus, exp_Ropp, exp_ln by exact H; reflexivity.
Qed.

Lemma dual_rpow : forall f g a b c d,
  dual f a b -> dual g c d -> 0 < a ->
  dual (fun t => rpow (f t) (g t)) (rpow a c) ((d * ln a + c * (b / a)) * rpow a c).
Proof.
  intros f g a b c d Hf Hg L; unfold rpow; rewrite (Rltb_true 0 a L).
  apply (dual_local (fun t => exp (g t * ln (f t)))).
  - generalize (dual_lt _ _ _ _ _ _ (dual_const 0) Hf L); apply filter_imp; intros t K.
    rewrite (Rltb_true 0 (f t)) by lra; reflexivity.
  - apply dual_exp, dual_mult; [exact Hg|apply dual_ln; assumption].
Qed.

(** ** The angle of the point (x, y) *)

Definition atan2 (y x : R) : R :=
  if Rltb 0 x then atan (y / x)
  else if Rltb 0 y then PI / 2 - atan (x / y)
  else if Rltb y 0 then - (PI / 2) - atan (x / y)
  else if Rltb x 0 then PI else 0.

Lemma atan2_up : forall y x, 0 < y -> atan2 y x = PI / 2 - atan (x / y).
Proof.
  intros y x H; unfold atan2; destruct (Rltb_spec 0 x) as [L|L]; [|rewrite (Rltb_true 0 y) by lra; reflexivity].
  rewrite <- atan_inv by (apply Rdiv_lt_0_compat; lra); f_equal; field; lra.
Qed.

Lemma atan2_down : forall y x, y < 0 -> atan2 y x = - (PI / 2) - atan (x / y).
Proof.
  intros y x H; unfold atan2; destruct (Rltb_spec 0 x) as [L|L].
  - replace (atan (x / y)) with (- atan (x / - y)) by (rewrite <- atan_opp; f_equal; field; lra).
    replace (atan (y / x)) with (- atan (/ (x / - y))) by (rewrite <- atan_opp; f_equal; field; lra).
    rewrite atan_inv by (apply Rdiv_lt_0_compat; lra); lra.
  - rewrite (Rltb_false 0 y), (Rltb_true y 0) by lra; reflexivity.
Qed.

Lemma atan2_right : forall y x, 0 < x -> atan2 y x = atan (y / x).
Proof. intros y x H; unfold atan2; rewrite (Rltb_true 0 x) by lra; reflexivity. Qed.

Lemma dual_atan2 : forall f g a b c d,
  dual f a b -> dual g c d -> a <> 0 \/ 0 < c ->
  dual (fun t => atan2 (f t) (g t)) (atan2 a c) ((c * b - a * d) / (c * c + a * a)).
Proof.
  intros f g a b c d Hf Hg H.
  destruct (Rlt_dec 0 a) as [U|U]; [|destruct (Rlt_dec a 0) as [D|D]].
  - apply (dual_local (fun t => PI / 2 - atan (g t / f t))).
    + generalize (dual_lt _ _ _ _ _ _ (dual_const 0) Hf U); apply filter_imp; intros t K.
      symmetry; apply atan2_up, K.
    + rewrite atan2_up by exact U.
      eapply dual_eq; [apply dual_minus; [apply dual_const|apply dual_atan, dual_div; [exact Hg|exact Hf|lra]]|reflexivity|].
      field; repeat split; nra.
  - apply (dual_local (fun t => - (PI / 2) - atan (g t / f t))).
    + generalize (dual_lt _ _ _ _ _ _ Hf (dual_const 0) D); apply filter_imp; intros t K.
      symmetry; apply atan2_down, K.
    + rewrite atan2_down by exact D.
      eapply dual_eq; [apply dual_minus; [apply dual_const|apply dual_atan, dual_div; [exact Hg|exact Hf|lra]]|reflexivity|].
      field; repeat split; nra.
  - assert (L : 0 < c) by (destruct H; lra).
    apply (dual_local (fun t => atan (f t / g t))).
    + generalize (dual_lt _ _ _ _ _ _ (dual_const 0) Hg L); apply filter_imp; intros t K.
      symmetry; apply atan2_right, K.
    + rewrite atan2_right by exact L.
      eapply dual_eq; [apply dual_atan, dual_div; [exact Hf|exact Hg|lra]|reflexivity|].
      field; repeat split; nra.
Qed.

(** ** log (1 + exp x), written so that no exponential is large; and less a product, as in a cross entropy *)

Definition softplus_less (x z : R) : R := (if Rltb x 0 then 0 else x) - z + ln (1 + exp (- (if Rltb x 0 then - x else x))).
Definition softplus (x : R) : R := (if Rltb x 0 then 0 else x) + ln (1 + exp (- (if Rltb x 0 then - x else x))).

Lemma softplus_is : forall x, softplus x = ln (1 + exp x).
Proof.
  intro x; unfold softplus; destruct (Rltb_spec x 0); [rewrite Ropp_involutive; ring|].
  rewrite <- (ln_exp x) at 1; assert (P := exp_pos x); assert (Q := exp_pos (- x)).
  rewrite <- ln_mult by lra; f_equal.
  rewrite Rmult_plus_distr_l, <- exp_plus, Rplus_opp_r, exp_0; ring.
Qed.

Lemma dual_softplus : forall f a b, dual f a b -> dual (fun t => softplus (f t)) (softplus a) (b * (1 / (1 + exp (- a)))).
Proof.
  intros f a b H; apply (dual_ext (fun t => ln (1 + exp (f t)))); [intro; symmetry; apply softplus_is|].
  rewrite softplus_is; assert (P := exp_pos a).
  eapply dual_eq; [apply dual_ln; [apply dual_const_plus, dual_exp, H | lra] | reflexivity|].
  rewrite exp_Ropp; field; lra.
Qed.

Lemma dual_softplus_less : forall f g a b v d, dual f a b -> dual g v d ->
  dual (fun t => softplus_less (f t) (g t)) (softplus_less a v) (b * (1 / (1 + exp (- a))) - d).
Proof.
  intros f g a b v d H K.
  assert (E : forall x z, softplus x - z = softplus_less x z) by (intros; unfold softplus, softplus_less; ring).
  apply (dual_ext (fun t => softplus (f t) - g t)); [intro; apply E|].
  rewrite <- E; apply dual_minus; [apply dual_softplus|]; assumption.
Qed.
