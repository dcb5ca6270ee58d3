(** Derivatives along curves.

    [dual f v d]: at time 0 the curve [f] has the value [v] and the derivative [d]. One law a construct, so that a
    proof follows the form of the function; what a law asks of values is asked of [v], where no time stands. *)

From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums.
Open Scope R_scope.

Definition dual (f : R -> R) (v d : R) : Prop := f 0 = v /\ is_derive f 0 d.

(** What is to be shown of a derivative rule follows from the law of the function's form and an equation. *)
Lemma dual_is_derive : forall f v d d', dual f v d -> d = d' -> is_derive f 0 d'.
Proof. intros f v d d' [_ H] <-; exact H. Qed.

Lemma dual_ext : forall f g v d, (forall t, f t = g t) -> dual f v d -> dual g v d.
Proof.
  intros f g v d E [Hv Hd]; split; [rewrite <- E; exact Hv|].
  apply (is_derive_ext f); assumption.
Qed.

Lemma dual_eq : forall f v d v' d', dual f v d -> v = v' -> d = d' -> dual f v' d'.
Proof. intros; subst; assumption. Qed.

Lemma dual_const : forall c, dual (fun _ => c) c 0.
Proof. intro c; split; [reflexivity|apply (is_derive_const c)]. Qed.

(** An input that moves. *)
Lemma dual_line : forall a b, dual (fun t => a + t * b) a b.
Proof. intros a b; split; [ring|]; auto_derive; [exact I|ring]. Qed.

Lemma dual_chain : forall g f v d l, dual f v d -> is_derive g v l -> dual (fun t => g (f t)) (g v) (d * l).
Proof.
  intros g f v d l [Hv Hd] Hg; split; [rewrite Hv; reflexivity|].
  apply (is_derive_comp g f); [rewrite Hv; exact Hg|exact Hd].
Qed.

(** A function of two numbers that both move is covered by laws of its own below. *)

Lemma dual_plus : forall f g a b c d, dual f a b -> dual g c d -> dual (fun t => f t + g t) (a + c) (b + d).
Proof.
  intros f g a b c d [Hf Df] [Hg Dg]; split; [rewrite Hf, Hg; reflexivity|apply (is_derive_plus f g); assumption].
Qed.

Lemma dual_minus : forall f g a b c d, dual f a b -> dual g c d -> dual (fun t => f t - g t) (a - c) (b - d).
Proof.
  intros f g a b c d [Hf Df] [Hg Dg]; split; [rewrite Hf, Hg; reflexivity|apply (is_derive_minus f g); assumption].
Qed.

(** What does not move. *)
Lemma dual_plus_const : forall f c a b, dual f a b -> dual (fun t => f t + c) (a + c) b.
Proof.
  intros f c a b [Hf Df]; split; [rewrite Hf; reflexivity|].
  evar_last; [apply (is_derive_plus f (fun _ => c)); [exact Df|apply (is_derive_const c)]|apply Rplus_0_r].
Qed.

Lemma dual_const_plus : forall f c a b, dual f a b -> dual (fun t => c + f t) (c + a) b.
Proof.
  intros f c a b [Hf Df]; split; [rewrite Hf; reflexivity|].
  evar_last; [apply (is_derive_plus (fun _ => c) f); [apply (is_derive_const c)|exact Df]|apply Rplus_0_l].
Qed.

Lemma dual_minus_const : forall f c a b, dual f a b -> dual (fun t => f t - c) (a - c) b.
Proof. intros f c a b H; exact (dual_plus_const f (- c) a b H). Qed.

Lemma dual_const_minus : forall f c a b, dual f a b -> dual (fun t => c - f t) (c - a) (- b).
Proof.
  intros f c a b [Hf Df]; split; [rewrite Hf; reflexivity|].
  evar_last; [apply (is_derive_minus (fun _ => c) f); [apply (is_derive_const c)|exact Df]|apply Rminus_0_l].
Qed.

Lemma dual_scal_l : forall f c a b, dual f a b -> dual (fun t => c * f t) (c * a) (c * b).
Proof. intros f c a b [Hf Df]; split; [rewrite Hf; reflexivity|apply (is_derive_scal f), Df]. Qed.

Lemma dual_scal_r : forall f c a b, dual f a b -> dual (fun t => f t * c) (a * c) (b * c).
Proof.
  intros f c a b H; destruct (dual_scal_l f c a b H) as [Hf Df]; split; [rewrite (Rmult_comm (f 0)), (Rmult_comm a); exact Hf|].
  rewrite (Rmult_comm b); apply (is_derive_ext (fun t => c * f t)); [intro; apply Rmult_comm|exact Df].
Qed.

Lemma dual_div_const : forall f c a b, dual f a b -> dual (fun t => f t / c) (a / c) (b / c).
Proof. intros f c a b H; exact (dual_scal_r f (/ c) a b H). Qed.

Lemma dual_opp : forall f a b, dual f a b -> dual (fun t => - f t) (- a) (- b).
Proof. intros f a b [Hf Df]; split; [rewrite Hf; reflexivity|apply (is_derive_opp f); assumption]. Qed.

Lemma dual_mult : forall f g a b c d,
  dual f a b -> dual g c d -> dual (fun t => f t * g t) (a * c) (b * c + a * d).
Proof.
  intros f g a b c d [Hf Df] [Hg Dg]; split; [rewrite Hf, Hg; reflexivity|].
  rewrite <- Hf, <- Hg.
  apply (is_derive_mult f g 0 b d); [exact Df|exact Dg|intros; apply Rmult_comm].
Qed.

Lemma dual_inv : forall f a b, dual f a b -> a <> 0 -> dual (fun t => / f t) (/ a) (- b / (a * a)).
Proof.
  intros f a b [Hf Df] Ha; split; [rewrite Hf; reflexivity|].
  evar_last; [apply (is_derive_inv f); [exact Df|rewrite Hf; exact Ha]|].
  rewrite Hf; field; exact Ha.
Qed.

Lemma dual_div : forall f g a b c d,
  dual f a b -> dual g c d -> c <> 0 -> dual (fun t => f t / g t) (a / c) (b / c - a * d / (c * c)).
Proof.
  intros f g a b c d Hf Hg Hc; unfold Rdiv at 1.
  eapply dual_eq; [apply dual_mult; [exact Hf|apply dual_inv; [exact Hg|exact Hc]]|reflexivity|field; exact Hc].
Qed.

Lemma dual_pow : forall f a b n, dual f a b -> dual (fun t => f t ^ n) (a ^ n) (INR n * a ^ pred n * b).
Proof.
  intros f a b n [Hf Df]; split; [rewrite Hf; reflexivity|].
  evar_last; [apply (is_derive_pow f); exact Df|rewrite Hf; ring].
Qed.

Lemma dual_const_div : forall f c a b, dual f a b -> a <> 0 -> dual (fun t => c / f t) (c / a) (- (c * b / (a * a))).
Proof.
  intros f c a b H N; eapply dual_eq; [apply (dual_div (fun _ => c) f); [apply dual_const|exact H|exact N]|reflexivity|].
  field; exact N.
Qed.

Lemma dual_exp : forall f a b, dual f a b -> dual (fun t => exp (f t)) (exp a) (b * exp a).
Proof. intros f a b H; apply (dual_chain exp f a b (exp a) H); apply is_derive_exp. Qed.

Lemma dual_ln : forall f a b, dual f a b -> 0 < a -> dual (fun t => ln (f t)) (ln a) (b / a).
Proof. intros f a b H Ha; apply (dual_chain ln f a b (/ a) H); apply is_derive_ln; exact Ha. Qed.

Lemma dual_sqrt : forall f a b, dual f a b -> 0 < a -> dual (fun t => sqrt (f t)) (sqrt a) (b / (2 * sqrt a)).
Proof.
  intros f a b H Ha; unfold Rdiv; apply (dual_chain sqrt f a b (/ (2 * sqrt a)) H).
  apply is_derive_Reals, derivable_pt_lim_sqrt; exact Ha.
Qed.

Lemma dual_sin : forall f a b, dual f a b -> dual (fun t => sin (f t)) (sin a) (b * cos a).
Proof. intros f a b H; apply (dual_chain sin f a b (cos a) H); apply is_derive_sin. Qed.

Lemma dual_cos : forall f a b, dual f a b -> dual (fun t => cos (f t)) (cos a) (b * - sin a).
Proof. intros f a b H; apply (dual_chain cos f a b (- sin a) H); apply is_derive_cos. Qed.

Lemma dual_tan : forall f a b, dual f a b -> cos a <> 0 -> dual (fun t => tan (f t)) (tan a) (b * (1 + tan a ^ 2)).
Proof.
  intros f a b H Ha; apply (dual_chain tan f a b (1 + tan a ^ 2) H).
  evar_last; [apply is_derive_tan; exact Ha|ring].
Qed.

Lemma dual_sinh : forall f a b, dual f a b -> dual (fun t => sinh (f t)) (sinh a) (b * cosh a).
Proof. intros f a b H; apply (dual_chain sinh f a b (cosh a) H); apply is_derive_Reals, derivable_pt_lim_sinh. Qed.

Lemma dual_cosh : forall f a b, dual f a b -> dual (fun t => cosh (f t)) (cosh a) (b * sinh a).
Proof. intros f a b H; apply (dual_chain cosh f a b (sinh a) H); apply is_derive_Reals, derivable_pt_lim_cosh. Qed.

Lemma cosh_pos : forall x, 0 < cosh x.
Proof. intro x; unfold cosh; assert (H := exp_pos x); assert (H' := exp_pos (- x)); lra. Qed.

Lemma cosh_square : forall x, cosh x * cosh x - sinh x * sinh x = 1.
Proof.
  intro x; unfold cosh, sinh.
  replace 1 with (exp x * exp (- x)) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0); field.
Qed.

Lemma dual_tanh : forall f a b, dual f a b -> dual (fun t => tanh (f t)) (tanh a) (b * (1 - tanh a * tanh a)).
Proof.
  intros f a b H; unfold tanh.
  eapply dual_eq; [apply dual_div; [apply dual_sinh, H|apply dual_cosh, H|]|reflexivity|].
  - apply Rgt_not_eq, cosh_pos.
  - field; apply Rgt_not_eq, cosh_pos.
Qed.

Lemma dual_atan : forall f a b, dual f a b -> dual (fun t => atan (f t)) (atan a) (b * / (1 + a ^ 2)).
Proof.
  intros f a b H; apply (dual_chain atan f a b (/ (1 + a ^ 2)) H).
  evar_last; [apply is_derive_atan|unfold Rsqr; f_equal; ring].
Qed.

Lemma dual_asin : forall f a b, dual f a b -> -1 < a < 1 -> dual (fun t => asin (f t)) (asin a) (b * / sqrt (1 - a ^ 2)).
Proof.
  intros f a b H Ha; apply (dual_chain asin f a b (/ sqrt (1 - a ^ 2)) H).
  apply is_derive_Reals; replace (/ sqrt (1 - a ^ 2)) with (derive_pt asin a (derivable_pt_asin a Ha)).
  - apply derive_pt_eq_1 with (derivable_pt_asin a Ha); reflexivity.
  - rewrite derive_pt_asin; unfold Rdiv; rewrite Rmult_1_l; f_equal; f_equal; unfold Rsqr; ring.
Qed.

Lemma dual_acos : forall f a b, dual f a b -> -1 < a < 1 -> dual (fun t => acos (f t)) (acos a) (b * - / sqrt (1 - a ^ 2)).
Proof.
  intros f a b H Ha; apply (dual_chain acos f a b (- / sqrt (1 - a ^ 2)) H).
  apply is_derive_Reals; replace (- / sqrt (1 - a ^ 2)) with (derive_pt acos a (derivable_pt_acos a Ha)).
  - apply derive_pt_eq_1 with (derivable_pt_acos a Ha); reflexivity.
  - rewrite derive_pt_acos; replace (a ^ 2) with (Rsqr a) by (unfold Rsqr; ring); unfold Rdiv; ring.
Qed.

Lemma dual_Rpower : forall f g a b c d,
  dual f a b -> dual g c d -> 0 < a ->
  dual (fun t => Rpower (f t) (g t)) (Rpower a c) ((d * ln a + c * (b / a)) * Rpower a c).
Proof.
  intros f g a b c d Hf Hg Ha; unfold Rpower.
  apply dual_exp, dual_mult; [exact Hg|apply dual_ln; assumption].
Qed.

(** Sums of any length. *)
Lemma dual_sumN : forall n f v d,
  (forall i, (i < n)%nat -> dual (fun t => f t i) (v i) (d i)) ->
  dual (fun t => sumN n (f t)) (sumN n v) (sumN n d).
Proof.
  intros n f v d H; induction n as [|n IH]; simpl; [apply dual_const|].
  apply dual_plus; [apply IH; intros; apply H; lia|apply H; lia].
Qed.

Lemma dual_sum : forall n f v d,
  (forall i, (0 <= i < n)%Z -> dual (fun t => f t i) (v i) (d i)) ->
  dual (fun t => sum_lt n (f t)) (sum_lt n (fun i => v i)) (sum_lt n (fun i => d i)).
Proof.
  intros n f v d H; unfold sum_lt.
  exact (dual_sumN (Z.to_nat n) (fun t i => f t (Z.of_nat i)) _ _ (fun i Hi => H (Z.of_nat i) ltac:(lia))).
Qed.

(** * Continuity of a curve at 0: near 0 a strict inequality stays. *)

Lemma dual_near : forall f v d (e : posreal), dual f v d -> locally 0 (fun t => Rabs (f t - v) < e).
Proof.
  intros f v d e [Hv Hd].
  assert (C : continuous f 0) by (apply (ex_derive_continuous f); exists d; exact Hd).
  specialize (C (ball (f 0) e) (locally_ball _ _)).
  destruct C as [r H]; exists r; intros t Ht; specialize (H t Ht).
  rewrite <- Hv; exact H.
Qed.

Lemma dual_lt : forall f g a b c d, dual f a b -> dual g c d -> a < c -> locally 0 (fun t => f t < g t).
Proof.
  intros f g a b c d Hf Hg L.
  assert (P : 0 < (c - a) / 2) by lra.
  destruct (dual_near f a b (mkposreal _ P) Hf) as [r1 H1]; destruct (dual_near g c d (mkposreal _ P) Hg) as [r2 H2].
  assert (Pr : 0 < Rmin r1 r2) by (apply Rmin_pos; apply cond_pos).
  exists (mkposreal _ Pr); intros t Ht.
  assert (B1 : ball 0 r1 t) by (eapply ball_le; [apply Rmin_l|exact Ht]).
  assert (B2 : ball 0 r2 t) by (eapply ball_le; [apply Rmin_r|exact Ht]).
  specialize (H1 t B1); specialize (H2 t B2); simpl in H1, H2.
  apply Rabs_def2 in H1; apply Rabs_def2 in H2; lra.
Qed.

Lemma dual_local : forall f g v d, locally 0 (fun t => f t = g t) -> dual f v d -> dual g v d.
Proof.
  intros f g v d E [Hv Hd]; split.
  - rewrite <- Hv; symmetry; destruct E as [r H]; apply H; apply ball_center.
  - apply (is_derive_ext_loc f); assumption.
Qed.

(** Two curves with one value and one derivative: whichever is taken at each time, the result has them. *)
Lemma dual_either : forall f g h v d,
  dual f v d -> dual g v d -> (forall t, h t = f t \/ h t = g t) -> dual h v d.
Proof.
  intros f g h v d [Fv Fd] [Gv Gd] H.
  assert (Hv : h 0 = v) by (destruct (H 0) as [E|E]; congruence).
  split; [exact Hv|].
  split; [apply is_linear_scal_l|].
  intros x Hx; destruct Fd as [_ Fd]; destruct Gd as [_ Gd].
  assert (E : x = 0) by (symmetry; apply (is_filter_lim_locally_unique 0 x); exact Hx); subst x.
  intro e; specialize (Fd 0 Hx e); specialize (Gd 0 Hx e).
  generalize (filter_and _ _ Fd Gd); apply filter_imp; intros t [A B].
  rewrite Hv; rewrite Fv in A; rewrite Gv in B.
  destruct (H t) as [-> | ->]; assumption.
Qed.
