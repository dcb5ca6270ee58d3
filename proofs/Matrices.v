(** Linear systems: their solutions are the only ones, move with what they are of, and have an adjoint.

    A matrix is a function of a row and a column below [n]. Nothing here knows determinants: what is asked of a matrix is
    that it has an inverse. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves.
Open Scope R_scope.

Definition matrix := Z -> Z -> R.

Definition left_inverse (n : Z) (p a : matrix) : Prop :=
  forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> sum_lt n (fun k => p i k * a k j) = if (i =? j)%Z then 1 else 0.

Definition invertible (n : Z) (a : matrix) : Prop := exists p, left_inverse n p a /\ left_inverse n a p.

Definition positive_definite (n : Z) (a : matrix) : Prop :=
  forall v : Z -> R, (exists i, (0 <= i < n)%Z /\ v i <> 0) -> 0 < sum_lt n (fun i => sum_lt n (fun j => v i * a i j * v j)).

Definition transposed (a : matrix) : matrix := fun i j => a j i.

Lemma sum_of_unit : forall n i f, (0 <= i < n)%Z -> sum_lt n (fun k => (if (i =? k)%Z then 1 else 0) * f k) = f i.
Proof.
  intros n i f H; rewrite (sum_single n i); [rewrite Z.eqb_refl; ring|exact H|].
  intros k _ N; destruct (Z.eqb_spec i k); [congruence|ring].
Qed.

(** A product with a product. *)
Lemma sum_through : forall n (p a : matrix) x (i : Z),
  sum_lt n (fun j => p i j * sum_lt n (fun k => a j k * x k)) = sum_lt n (fun k => sum_lt n (fun j => p i j * a j k) * x k).
Proof.
  intros n p a x i.
  transitivity (sum_lt n (fun j => sum_lt n (fun k => p i j * a j k * x k))).
  - apply sum_ext; intros j _; rewrite <- sum_scal_l; apply sum_ext; intros; ring.
  - rewrite sum_comm; apply sum_ext; intros k _; apply sum_scal_r.
Qed.

Lemma solution_is : forall n (p a : matrix) x y, left_inverse n p a ->
  (forall i, (0 <= i < n)%Z -> sum_lt n (fun k => a i k * x k) = y i) ->
  forall i, (0 <= i < n)%Z -> x i = sum_lt n (fun j => p i j * y j).
Proof.
  intros n p a x y P E i Hi.
  rewrite (sum_ext n _ (fun j => p i j * sum_lt n (fun k => a j k * x k))) by (intros j Hj; rewrite E by exact Hj; reflexivity).
  rewrite sum_through, <- (sum_of_unit n i x Hi).
  apply sum_ext; intros k Hk; rewrite P by assumption; reflexivity.
Qed.

Lemma inverse_solves : forall n (p a : matrix) y, left_inverse n a p ->
  forall i, (0 <= i < n)%Z -> sum_lt n (fun k => a i k * sum_lt n (fun j => p k j * y j)) = y i.
Proof.
  intros n p a y P i Hi; rewrite sum_through, <- (sum_of_unit n i y Hi).
  apply sum_ext; intros k Hk; rewrite P by assumption; reflexivity.
Qed.

Lemma left_inverse_transposed : forall n p a, left_inverse n p a -> left_inverse n (transposed a) (transposed p).
Proof.
  intros n p a P i j Hi Hj; unfold transposed; rewrite (sum_ext n _ (fun k => p j k * a k i)) by (intros; ring).
  rewrite P, Z.eqb_sym by assumption; reflexivity.
Qed.

Lemma invertible_transposed : forall n a, invertible n a -> invertible n (transposed a).
Proof.
  intros n a [p [L R]]; exists (transposed p); split; apply left_inverse_transposed; assumption.
Qed.

Lemma left_inverse_ext : forall n p a b, (forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> a i j = b i j) ->
  left_inverse n p a -> left_inverse n p b.
Proof.
  intros n p a b E P i j Hi Hj; rewrite <- P by assumption.
  apply sum_ext; intros k Hk; rewrite E by assumption; reflexivity.
Qed.

Lemma invertible_ext : forall n a b, (forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> a i j = b i j) ->
  invertible n a -> invertible n b.
Proof.
  intros n a b E [p [L R]]; exists p; split; [exact (left_inverse_ext n p a b E L)|].
  intros i j Hi Hj; rewrite <- R by assumption; apply sum_ext; intros k Hk; rewrite E by assumption; reflexivity.
Qed.

(** * Triangles *)

Lemma sum_last : forall n f, (0 <= n)%Z -> sum_lt (n + 1) f = sum_lt n f + f n.
Proof.
  intros n f H; unfold sum_lt; replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia.
  cbn [sumN]; rewrite Z2Nat.id by exact H; reflexivity.
Qed.

(** The inverse of [a] with one more column [u] and a last entry [d] on the diagonal. *)
Definition bordered (n : Z) (p : matrix) (u : Z -> R) (d : R) : matrix := fun i j =>
  if (i <? n)%Z then if (j <? n)%Z then p i j else - sum_lt n (fun k => p i k * u k) / d
  else if (j <? n)%Z then 0 else / d.

Ltac decide_ranges := repeat match goal with
  | |- context [(?a <? ?b)%Z] => destruct (Z.ltb_spec a b); try lia
  | |- context [(?a =? ?b)%Z] => destruct (Z.eqb_spec a b); try lia
  end.

Lemma bordered_left : forall n p a, (0 <= n)%Z -> left_inverse n p a -> (forall j, (0 <= j < n)%Z -> a n j = 0) ->
  a n n <> 0 -> left_inverse (n + 1) (bordered n p (fun k => a k n) (a n n)) a.
Proof.
  intros n p a Hn P Z0 D i j Hi Hj; rewrite sum_last by exact Hn; unfold bordered at 2.
  rewrite (sum_ext n _ (fun k => (if (i <? n)%Z then p i k else 0) * a k j)).
  2:{ intros k Hk; unfold bordered; decide_ranges; reflexivity. }
  destruct (Z.ltb_spec i n) as [I|I]; (destruct (Z.ltb_spec j n) as [J|J]); destruct (Z.ltb_spec n n); try lia.
  - rewrite P by lia; rewrite (Z0 j) by lia; ring.
  - replace j with n by lia; decide_ranges; field; exact D.
  - rewrite (Z0 j) by lia; rewrite sum_all_zero by (intros; ring); decide_ranges; ring.
  - replace j with n by lia; replace i with n by lia; rewrite sum_all_zero by (intros; ring); rewrite Z.eqb_refl; field; exact D.
Qed.

Lemma bordered_right : forall n p a, (0 <= n)%Z -> left_inverse n a p -> (forall j, (0 <= j < n)%Z -> a n j = 0) ->
  a n n <> 0 -> left_inverse (n + 1) a (bordered n p (fun k => a k n) (a n n)).
Proof.
  intros n p a Hn P Z0 D i j Hi Hj; rewrite sum_last by exact Hn.
  destruct (Z.ltb_spec j n) as [J|J].
  - rewrite (sum_ext n _ (fun k => a i k * p k j)) by (intros; unfold bordered; decide_ranges; reflexivity).
    unfold bordered; decide_ranges; subst.
    + rewrite P by lia; rewrite Z.eqb_refl; ring.
    + destruct (Z.ltb_spec i n).
      * rewrite P by lia; destruct (Z.eqb_spec i j); [lia|ring].
      * replace i with n by lia; rewrite sum_all_zero by (intros; rewrite Z0 by lia; ring); ring.
  - replace j with n by lia.
    rewrite (sum_ext n _ (fun k => a i k * sum_lt n (fun l => p k l * (- a l n / a n n)))).
    2:{ intros k Hk; unfold bordered; decide_ranges.
        rewrite (sum_ext n (fun l => p k l * (- a l n / a n n)) (fun l => p k l * a l n * (- / a n n))) by (intros; field; exact D).
        rewrite sum_scal_r; field; exact D. }
    unfold bordered; destruct (Z.ltb_spec n n); [lia|].
    destruct (Z.ltb_spec i n).
    + rewrite (inverse_solves n p a (fun l => - a l n / a n n)) by (assumption || lia).
      destruct (Z.eqb_spec i n); [lia|]; field; exact D.
    + replace i with n by lia; rewrite sum_all_zero by (intros; rewrite Z0 by lia; ring); rewrite Z.eqb_refl; field; exact D.
Qed.

Lemma upper_invertible : forall n a, (0 <= n)%Z ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> (j < i)%Z -> a i j = 0) ->
  (forall i, (0 <= i < n)%Z -> a i i <> 0) -> invertible n a.
Proof.
  intros n a Hn; revert n Hn; apply (natlike_ind (fun n => _ -> _ -> invertible n a)).
  - intros _ _; exists a; split; intros i j Hi; lia.
  - intros n Hn IH Z0 D; change (Z.succ n) with (n + 1)%Z in *.
    destruct IH as [p [L R]]; [intros; apply Z0; lia|intros; apply D; lia|].
    exists (bordered n p (fun k => a k n) (a n n)); split.
    + apply bordered_left; [exact Hn|exact L|intros; apply Z0; lia|apply D; lia].
    + apply bordered_right; [exact Hn|exact R|intros; apply Z0; lia|apply D; lia].
Qed.

Lemma lower_invertible : forall n a, (0 <= n)%Z ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> (i < j)%Z -> a i j = 0) ->
  (forall i, (0 <= i < n)%Z -> a i i <> 0) -> invertible n a.
Proof.
  intros n a Hn Z0 D; apply (invertible_transposed n (transposed a)), upper_invertible; [exact Hn| |exact D].
  intros i j Hi Hj L; apply Z0; assumption.
Qed.

(** * Solutions move *)

Lemma sum_abs : forall n f, Rabs (sum_lt n f) <= sum_lt n (fun i => Rabs (f i)).
Proof.
  intros n f; unfold sum_lt; induction (Z.to_nat n) as [|m IH]; cbn [sumN]; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat_r; exact IH.
Qed.

Lemma sum_le : forall n f g, (forall i, (0 <= i < n)%Z -> f i <= g i) -> sum_lt n f <= sum_lt n g.
Proof.
  intros n f g H; assert (P : 0 <= sum_lt n (fun i => g i - f i)) by (apply sum_nonneg; intros i Hi; specialize (H i Hi); lra).
  rewrite sum_minus in P; lra.
Qed.

Lemma le_sum : forall n f k, (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> 0 <= f i) -> f k <= sum_lt n f.
Proof.
  intros n f k Hk P.
  assert (E : sum_lt n (fun i => if (i =? k)%Z then f k else 0) = f k).
  { rewrite (sum_single n k); [rewrite Z.eqb_refl; reflexivity|exact Hk|]; intros i _ N; destruct (Z.eqb_spec i k); [contradiction|reflexivity]. }
  rewrite <- E; apply sum_le; intros i Hi; destruct (Z.eqb_spec i k); [subst; lra|apply P; exact Hi].
Qed.

(** For each of a range, near 0: near 0 for all of it. *)
Lemma near_for_all : forall n (P : Z -> R -> Prop),
  (forall i, (0 <= i < n)%Z -> locally 0 (P i)) -> locally 0 (fun t => forall i, (0 <= i < n)%Z -> P i t).
Proof.
  intros n P; destruct (Z_le_gt_dec 0 n) as [Hn|Hn]; [|intros _; apply filter_forall; intros; lia].
  revert n Hn; apply (natlike_ind (fun n => _ -> locally 0 (fun t => forall i, (0 <= i < n)%Z -> P i t))).
  - intros _; apply filter_forall; intros; lia.
  - intros n Hn IH H; assert (A := IH ltac:(intros; apply H; lia)); assert (B := H n ltac:(lia)); generalize (filter_and _ _ A B).
    apply filter_imp; intros t [K L] i Hi; destruct (Z.eq_dec i n) as [->|]; [exact L|apply K; lia].
Qed.

Lemma continuous_near : forall (f : R -> R) e, continuous f 0 -> 0 < e -> locally 0 (fun t => Rabs (f t - f 0) < e).
Proof. intros f e C He; exact (C (ball (f 0) (mkposreal e He)) (locally_ball _ _)). Qed.

(** What is 0 at time 0 times what is continuous there. *)
Lemma derive_times_continuous : forall u w d c, u 0 = 0 -> is_derive u 0 d -> continuous w 0 -> w 0 = c ->
  is_derive (fun t => u t * w t) 0 (d * c).
Proof.
  intros u w d c U D C <-; apply is_derive_Reals; apply is_derive_Reals in D.
  intros e He.
  assert (K : 0 < Rabs d + Rabs (w 0) + 2) by (assert (A := Rabs_pos d); assert (B := Rabs_pos (w 0)); lra).
  set (m := Rmin 1 (e / (Rabs d + Rabs (w 0) + 2))).
  assert (Hm : 0 < m) by (apply Rmin_pos; [lra|apply Rdiv_lt_0_compat; assumption]).
  assert (Me : m * (Rabs d + Rabs (w 0) + 2) <= e).
  { apply Rle_trans with (e / (Rabs d + Rabs (w 0) + 2) * (Rabs d + Rabs (w 0) + 2)).
    - apply Rmult_le_compat_r; [lra|apply Rmin_r].
    - right; field; lra. }
  destruct (D m Hm) as [r1 H1].
  destruct (continuous_near w m C Hm) as [r2 H2].
  assert (Pr : 0 < Rmin r1 r2) by (apply Rmin_pos; apply cond_pos).
  exists (mkposreal _ Pr); intros h Nh Hh; simpl in Hh.
  assert (A := H1 h Nh ltac:(eapply Rlt_le_trans; [exact Hh|apply Rmin_l])).
  assert (B : Rabs (w h - w 0) < m).
  { apply (H2 h); unfold ball; simpl; unfold AbsRing_ball, abs, minus, plus, opp; simpl.
    replace (h + - 0) with h by ring; eapply Rlt_le_trans; [exact Hh|apply Rmin_r]. }
  rewrite Rplus_0_l in *; rewrite U in *.
  replace ((u h * w h - 0 * w 0) / h - d * w 0) with (((u h - 0) / h - d) * w h + d * (w h - w 0)) by (field; exact Nh).
  assert (W : Rabs (w h) <= Rabs (w 0) + 1).
  { replace (w h) with (w 0 + (w h - w 0)) by ring; eapply Rle_trans; [apply Rabs_triang|].
    assert (m <= 1) by apply Rmin_l; lra. }
  eapply Rle_lt_trans; [apply Rabs_triang|]; rewrite !Rabs_mult.
  assert (T1 : Rabs ((u h - 0) / h - d) * Rabs (w h) <= m * (Rabs (w 0) + 1)).
  { apply Rmult_le_compat; [apply Rabs_pos|apply Rabs_pos|lra|exact W]. }
  assert (T2 : Rabs d * Rabs (w h - w 0) <= Rabs d * m) by (apply Rmult_le_compat_l; [apply Rabs_pos|lra]).
  nra.
Qed.

Lemma derive_sum : forall n (f : R -> Z -> R) d, (forall i, (0 <= i < n)%Z -> is_derive (fun t => f t i) 0 (d i)) ->
  is_derive (fun t => sum_lt n (f t)) 0 (sum_lt n d).
Proof.
  intros n f d H; apply (dual_sum n f (fun i => f 0 i) d); intros i Hi; split; [reflexivity|apply H; exact Hi].
Qed.

(** A fixed point [x = d + e x] with [e = 0] at time 0 moves as [d' + e' x]. *)
Lemma fixed_point_moves : forall n (x d : R -> Z -> R) (e : R -> matrix) d' e',
  locally 0 (fun t => forall i, (0 <= i < n)%Z -> x t i = d t i + sum_lt n (fun k => e t i k * x t k)) ->
  (forall i, (0 <= i < n)%Z -> is_derive (fun t => d t i) 0 (d' i)) ->
  (forall i k, (0 <= i < n)%Z -> (0 <= k < n)%Z -> is_derive (fun t => e t i k) 0 (e' i k)) ->
  (forall i k, (0 <= i < n)%Z -> (0 <= k < n)%Z -> e 0 i k = 0) ->
  forall i, (0 <= i < n)%Z -> is_derive (fun t => x t i) 0 (d' i + sum_lt n (fun k => e' i k * x 0 k)).
Proof.
  intros n x d e d' e' Near D E E0.
  set (g := fun t => sum_lt n (fun i => sum_lt n (fun k => Rabs (e t i k)))).
  set (s := fun t => sum_lt n (fun i => Rabs (x t i))).
  set (b := fun t => sum_lt n (fun i => Rabs (d t i))).
  assert (Cd : forall i, (0 <= i < n)%Z -> continuous (fun t => d t i) 0)
    by (intros i Hi; apply (ex_derive_continuous (fun t => d t i)); exists (d' i); apply D; exact Hi).
  assert (Ce : forall i k, (0 <= i < n)%Z -> (0 <= k < n)%Z -> continuous (fun t => e t i k) 0)
    by (intros i k Hi Hk; apply (ex_derive_continuous (fun t => e t i k)); exists (e' i k); apply E; assumption).
  assert (Csum : forall f : R -> Z -> R, (forall i, (0 <= i < n)%Z -> continuous (fun t => f t i) 0) ->
                 continuous (fun t => sum_lt n (f t)) 0).
  { intros f C; unfold sum_lt.
    assert (L : forall m, (m <= Z.to_nat n)%nat -> continuous (fun t => sumN m (fun i => f t (Z.of_nat i))) 0).
    { induction m as [|m IH]; intro Hm; cbn [sumN]; [apply continuous_const|].
      apply (continuous_plus (fun t => sumN m (fun i => f t (Z.of_nat i))) (fun t => f t (Z.of_nat m))); [apply IH; lia|apply C; lia]. }
    apply L, le_n. }
  assert (Cg : continuous g 0).
  { unfold g; apply Csum; intros i Hi; apply Csum; intros k Hk.
    apply (continuous_comp (fun t => e t i k) Rabs); [apply Ce; assumption|apply continuous_Rabs]. }
  assert (Cb : continuous b 0).
  { unfold b; apply Csum; intros i Hi; apply (continuous_comp (fun t => d t i) Rabs); [apply Cd; exact Hi|apply continuous_Rabs]. }
  assert (G0 : g 0 = 0).
  { unfold g; apply sum_all_zero; intros i Hi; apply sum_all_zero; intros k Hk; rewrite E0, Rabs_R0 by assumption; reflexivity. }
  assert (Bound : locally 0 (fun t => forall i, (0 <= i < n)%Z -> Rabs (x t i) <= 2 * (b 0 + 1))).
  { assert (N1 := continuous_near g (/ 2) Cg ltac:(lra)); assert (N2 := continuous_near b 1 Cb ltac:(lra)).
    generalize (filter_and _ _ Near (filter_and _ _ N1 N2)); apply filter_imp; intros t [X [Gt Bt]] i Hi.
    assert (Gh : g t < / 2) by (rewrite G0 in Gt; apply Rabs_def2 in Gt; lra).
    assert (Bh : b t < b 0 + 1) by (apply Rabs_def2 in Bt; lra).
    assert (P : 0 <= s t) by (apply sum_nonneg; intros; apply Rabs_pos).
    assert (S : s t <= b t + g t * s t).
    { unfold s at 1, b, g; rewrite <- sum_scal_r, <- sum_plus; apply sum_le; intros j Hj.
      rewrite X by exact Hj; eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat_l.
      eapply Rle_trans; [apply sum_abs|]; rewrite <- sum_scal_r; apply sum_le; intros k Hk.
      rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|].
      apply (le_sum n (fun k => Rabs (x t k))); [exact Hk|intros; apply Rabs_pos]. }
    assert (Rabs (x t i) <= s t) by (apply (le_sum n (fun i => Rabs (x t i))); [exact Hi|intros; apply Rabs_pos]).
    nra. }
  assert (Cx : forall i, (0 <= i < n)%Z -> continuous (fun t => x t i) 0).
  { intros i Hi.
    assert (X0 : x 0 i = d 0 i).
    { assert (A := locally_singleton _ _ Near i Hi); rewrite A, sum_all_zero by (intros k Hk; rewrite E0 by assumption; ring); ring. }
    apply (continuous_ext_loc _ (fun t => d t i + sum_lt n (fun k => e t i k * x t k))).
    { revert Near; apply filter_imp; intros t X; symmetry; apply X; exact Hi. }
    apply (continuous_plus (fun t => d t i) (fun t => sum_lt n (fun k => e t i k * x t k))); [apply Cd; exact Hi|].
    apply Csum; intros k Hk; unfold continuous.
    rewrite E0, Rmult_0_l by assumption; intros Q [r HQ].
    set (m := 2 * (b 0 + 1) + 1).
    assert (Hb : 0 <= b 0) by (apply sum_nonneg; intros; apply Rabs_pos).
    assert (Hm : 0 < r / m) by (apply Rdiv_lt_0_compat; [apply cond_pos|unfold m; lra]).
    assert (N := continuous_near (fun t => e t i k) _ (Ce i k Hi Hk) Hm).
    change (locally 0 (fun t => Q (e t i k * x t k))).
    generalize (filter_and _ _ N Bound); apply filter_imp; intros t [Et Bt]; apply HQ.
    change (Rabs (e t i k * x t k - 0) < r); rewrite Rminus_0_r, Rabs_mult.
    assert (A := Et); rewrite E0, Rminus_0_r in A by assumption.
    assert (B := Bt k Hk); fold m in B.
    apply Rle_lt_trans with (Rabs (e t i k) * (2 * (b 0 + 1))); [apply Rmult_le_compat_l; [apply Rabs_pos|exact B]|].
    apply Rlt_le_trans with (r / m * m); [|right; field; unfold m; lra].
    apply Rle_lt_trans with (Rabs (e t i k) * m).
    - apply Rmult_le_compat_l; [apply Rabs_pos|unfold m; lra].
    - apply Rmult_lt_compat_r; [unfold m; lra|exact A]. }
  intros i Hi.
  apply (is_derive_ext_loc (fun t => d t i + sum_lt n (fun k => e t i k * x t k))).
  { revert Near; apply filter_imp; intros t X; symmetry; apply X; exact Hi. }
  apply (is_derive_plus (fun t => d t i) (fun t => sum_lt n (fun k => e t i k * x t k))); [apply D; exact Hi|].
  apply derive_sum; intros k Hk.
  apply (derive_times_continuous (fun t => e t i k) (fun t => x t k)); [apply E0; assumption|apply E; assumption|apply Cx; exact Hk|reflexivity].
Qed.

(** The solution of a system with an inverse at time 0: [a x' = y' - a' x]. *)
Lemma solution_moves : forall n (a : R -> matrix) (x y : R -> Z -> R) a' x' y',
  invertible n (a 0) ->
  locally 0 (fun t => forall i, (0 <= i < n)%Z -> sum_lt n (fun k => a t i k * x t k) = y t i) ->
  (forall i k, (0 <= i < n)%Z -> (0 <= k < n)%Z -> is_derive (fun t => a t i k) 0 (a' i k)) ->
  (forall i, (0 <= i < n)%Z -> is_derive (fun t => y t i) 0 (y' i)) ->
  (forall i, (0 <= i < n)%Z -> sum_lt n (fun k => a 0 i k * x' k) = y' i - sum_lt n (fun k => a' i k * x 0 k)) ->
  forall i, (0 <= i < n)%Z -> is_derive (fun t => x t i) 0 (x' i).
Proof.
  intros n a x y a' x' y' [p [L _]] Near A Y E i Hi.
  set (q := fun t i k => (if (i =? k)%Z then 1 else 0) - sum_lt n (fun j => p i j * a t j k)).
  set (d := fun t i => sum_lt n (fun j => p i j * y t j)).
  replace (x' i) with (sum_lt n (fun j => p i j * y' j)
                       + sum_lt n (fun k => - sum_lt n (fun j => p i j * a' j k) * x 0 k)).
  - apply (fixed_point_moves n x d q (fun i => sum_lt n (fun j => p i j * y' j)) (fun i k => - sum_lt n (fun j => p i j * a' j k))).
    + revert Near; apply filter_imp; intros t X j Hj; unfold d, q.
      rewrite (sum_ext n _ (fun l => p j l * sum_lt n (fun k => a t l k * x t k))) by (intros l Hl; rewrite X by exact Hl; reflexivity).
      rewrite sum_through, <- sum_plus.
      transitivity (sum_lt n (fun k => (if (j =? k)%Z then 1 else 0) * x t k)); [symmetry; apply sum_of_unit; exact Hj|].
      apply sum_ext; intros; ring.
    + intros j Hj; unfold d; apply derive_sum; intros k Hk; apply (is_derive_scal (fun t => y t k)); apply Y; exact Hk.
    + intros j k Hj Hk; unfold q.
      evar_last; [apply (is_derive_minus (fun _ => if (j =? k)%Z then 1 else 0) (fun t => sum_lt n (fun l => p j l * a t l k)))|].
      * apply (is_derive_const (if (j =? k)%Z then 1 else 0)).
      * apply derive_sum; intros l Hl; apply (is_derive_scal (fun t => a t l k)); apply A; assumption.
      * unfold minus, plus, opp, zero; simpl; ring.
    + intros j k Hj Hk; unfold q; rewrite L by assumption; ring.
    + exact Hi.
  - rewrite (solution_is n p (a 0) x' _ L E i Hi).
    rewrite (sum_ext n (fun j => p i j * (y' j - _)) (fun j => p i j * y' j - p i j * sum_lt n (fun k => a' j k * x 0 k))) by (intros; ring).
    rewrite sum_minus, sum_through; unfold Rminus; f_equal; rewrite <- sum_opp; apply sum_ext; intros; ring.
Qed.

(** * Several systems, each of several columns *)

Definition solves (b n m : Z) (a : Z -> matrix) (x y : Z -> Z -> Z -> R) : Prop :=
  forall i r c, (0 <= i < b)%Z -> (0 <= r < n)%Z -> (0 <= c < m)%Z -> sum_lt n (fun l => a i r l * x i l c) = y i r c.

(** Of which the unknowns stand transposed, or on the left. *)
Definition over_columns (x : Z -> Z -> Z -> R) : Z -> Z -> Z -> R := fun i r c => x i c r.

Lemma solves_unique : forall b n m a x x' y, (forall i, (0 <= i < b)%Z -> invertible n (a i)) ->
  solves b n m a x y -> solves b n m a x' y ->
  forall i r c, (0 <= i < b)%Z -> (0 <= r < n)%Z -> (0 <= c < m)%Z -> x i r c = x' i r c.
Proof.
  intros b n m a x x' y I X X' i r c Hi Hr Hc; destruct (I i Hi) as [p [L _]].
  etransitivity; [apply (solution_is n p (a i) (fun l => x i l c) (fun l => y i l c) L); [intros; apply X; assumption|exact Hr]|].
  symmetry; apply (solution_is n p (a i) (fun l => x' i l c) (fun l => y i l c) L); [intros; apply X'; assumption|exact Hr].
Qed.

(** A choice for each of a range. *)
Lemma chosen : forall (A : Type) b (P : Z -> A -> Prop) (d : A), (forall i, (0 <= i < b)%Z -> exists x, P i x) ->
  exists f : Z -> A, forall i, (0 <= i < b)%Z -> P i (f i).
Proof.
  intros A b P d; destruct (Z_le_gt_dec 0 b) as [Hb|Hb]; [|intros _; exists (fun _ => d); intros; lia].
  revert b Hb; apply (natlike_ind (fun b => _ -> exists f : Z -> A, forall i, (0 <= i < b)%Z -> P i (f i))).
  - intros _; exists (fun _ => d); intros; lia.
  - intros b Hb IH H; destruct (IH ltac:(intros; apply H; lia)) as [f Hf]; destruct (H b ltac:(lia)) as [x Hx].
    exists (fun i => if (i =? b)%Z then x else f i); intros i Hi.
    destruct (Z.eqb_spec i b) as [->|]; [exact Hx|apply Hf; lia].
Qed.

Lemma solves_exists : forall b n m a y, (forall i, (0 <= i < b)%Z -> invertible n (a i)) -> exists x, solves b n m a x y.
Proof.
  intros b n m a y I.
  destruct (chosen matrix b (fun i p => left_inverse n (a i) p) (fun _ _ => 0)) as [p P].
  { intros i Hi; destruct (I i Hi) as [p [_ R]]; exists p; exact R. }
  exists (fun i l c => sum_lt n (fun j => p i l j * y i j c)); intros i r c Hi Hr _.
  apply (inverse_solves n (p i) (a i) (fun j => y i j c)); [apply P; exact Hi|exact Hr].
Qed.

Lemma solves_moves : forall b n m a x x0 y a' x' y' a0 y0,
  (forall i, (0 <= i < b)%Z -> invertible n (a0 i)) ->
  locally 0 (fun t => solves b n m (a t) (x t) (y t)) ->
  solves b n m a0 x0 y0 ->
  (forall i r l, (0 <= i < b)%Z -> (0 <= r < n)%Z -> (0 <= l < n)%Z -> dual (fun t => a t i r l) (a0 i r l) (a' i r l)) ->
  (forall i r c, (0 <= i < b)%Z -> (0 <= r < n)%Z -> (0 <= c < m)%Z -> dual (fun t => y t i r c) (y0 i r c) (y' i r c)) ->
  solves b n m a0 x' (fun i r c => y' i r c - sum_lt n (fun l => a' i r l * x0 i l c)) ->
  forall i r c, (0 <= i < b)%Z -> (0 <= r < n)%Z -> (0 <= c < m)%Z -> is_derive (fun t => x t i r c) 0 (x' i r c).
Proof.
  intros b n m a x x0 y a' x' y' a0 y0 I Near X0 A Y X' i r c Hi Hr Hc.
  assert (At0 : solves b n m a0 (x 0) y0).
  { assert (N := locally_singleton _ _ Near); intros j s d Hj Hs Hd.
    rewrite <- (proj1 (Y j s d Hj Hs Hd)), <- (N j s d Hj Hs Hd).
    apply sum_ext; intros l Hl; rewrite (proj1 (A j s l Hj Hs Hl)); reflexivity. }
  apply (solution_moves n (fun t => a t i) (fun t l => x t i l c) (fun t l => y t i l c) (a' i) (fun l => x' i l c) (fun l => y' i l c)).
  - apply (invertible_ext n (a0 i)); [|apply I; exact Hi].
    intros j k Hj Hk; symmetry; exact (proj1 (A i j k Hi Hj Hk)).
  - revert Near; apply filter_imp; intros t N j Hj; apply N; assumption.
  - intros j k Hj Hk; apply A; assumption.
  - intros j Hj; apply Y; assumption.
  - intros j Hj.
    rewrite (sum_ext n _ (fun k => a0 i j k * x' i k c)) by (intros k Hk; rewrite (proj1 (A i j k Hi Hj Hk)); reflexivity).
    rewrite (X' i j c Hi Hj Hc); f_equal; apply sum_ext; intros k Hk.
    rewrite (solves_unique b n m a0 x0 (x 0) y0 I X0 At0 i k c Hi Hk Hc); reflexivity.
  - exact Hr.
Qed.

Lemma solves_adjoint : forall b n m a x y w s, solves b n m a x y -> solves b n m (fun i => transposed (a i)) w s ->
  sum_lt b (fun i => sum_lt n (fun r => sum_lt m (fun c => x i r c * s i r c)))
  = sum_lt b (fun i => sum_lt n (fun r => sum_lt m (fun c => w i r c * y i r c))).
Proof.
  intros b n m a x y w s X W; apply sum_ext; intros i Hi; rewrite sum_comm; symmetry; rewrite sum_comm.
  apply sum_ext; intros c Hc.
  transitivity (sum_lt n (fun r => sum_lt n (fun l => w i r c * (a i r l * x i l c)))).
  { apply sum_ext; intros r Hr; rewrite <- (X i r c Hi Hr Hc), sum_scal_l; reflexivity. }
  rewrite sum_comm; apply sum_ext; intros l Hl; rewrite <- (W i l c Hi Hl Hc).
  rewrite <- sum_scal_l; apply sum_ext; intros r _; unfold transposed; ring.
Qed.

(** A solution of the unit matrix, times what stands on the right of another system. *)
Lemma solves_product : forall b n m a x y, solves b n n a x (fun _ r c => if (r =? c)%Z then 1 else 0) ->
  solves b n m a (fun i r c => sum_lt n (fun l => x i r l * y i l c)) y.
Proof.
  intros b n m a x y X i r c Hi Hr Hc; rewrite sum_through, <- (sum_of_unit n r (fun l => y i l c) Hr).
  apply sum_ext; intros k Hk; rewrite (X i r k Hi Hr Hk); reflexivity.
Qed.
