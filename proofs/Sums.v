(** Finite sums below a size, and what may be done with them.

    Indices are integers, so that differences of indices are what they say; a sum over [i < n] runs from 0, and is 0
    where [n] is not positive. The first half is about naturals, for induction. *)

From Coq Require Import Reals Lra Lia ZArith Arith.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** * Over naturals *)

Fixpoint sumN (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sumN m f + f m
  end.

(** The sum is Coquelicot's, so that its theory applies to it. *)
Lemma sumN_sum_n : forall n f, sumN (S n) f = sum_n f n.
Proof.
  intros n f; induction n as [|n IH].
  - simpl; rewrite sum_O; ring.
  - rewrite sum_Sn, <- IH; reflexivity.
Qed.

Lemma sumN_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> sumN n f = sumN n g.
Proof.
  intros n f g H; induction n as [|n IH]; [reflexivity|]; simpl.
  rewrite IH by (intros; apply H; lia); rewrite (H n) by lia; reflexivity.
Qed.

Lemma sumN_zero : forall n, sumN n (fun _ => 0) = 0.
Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sumN_const : forall n c, sumN n (fun _ => c) = INR n * c.
Proof. intros n c; induction n as [|n IH]; [simpl; ring|]; rewrite S_INR; simpl sumN; rewrite IH; ring. Qed.

Lemma sumN_plus : forall n f g, sumN n (fun i => f i + g i) = sumN n f + sumN n g.
Proof. intros; induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sumN_minus : forall n f g, sumN n (fun i => f i - g i) = sumN n f - sumN n g.
Proof. intros; induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sumN_opp : forall n f, sumN n (fun i => - f i) = - sumN n f.
Proof. intros; induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sumN_scal_l : forall n c f, sumN n (fun i => c * f i) = c * sumN n f.
Proof. intros; induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sumN_scal_r : forall n c f, sumN n (fun i => f i * c) = sumN n f * c.
Proof. intros; induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

(** Sums change places. *)
Lemma sumN_comm : forall n m f,
  sumN n (fun i => sumN m (fun j => f i j)) = sumN m (fun j => sumN n (fun i => f i j)).
Proof.
  intros n m f; induction n as [|n IH]; simpl.
  - rewrite sumN_zero; reflexivity.
  - rewrite IH, <- sumN_plus; reflexivity.
Qed.

(** A sum over a range in two parts. *)
Lemma sumN_split : forall n m f, sumN (n + m) f = sumN n f + sumN m (fun i => f (n + i)%nat).
Proof.
  intros n m f; induction m as [|m IH]; simpl.
  - rewrite Nat.add_0_r; ring.
  - rewrite Nat.add_succ_r; simpl; rewrite IH; ring.
Qed.

(** Row-major: one range for two. *)
Lemma sumN_flatten : forall n d f,
  sumN (n * d) f = sumN n (fun i => sumN d (fun j => f (i * d + j)%nat)).
Proof.
  intros n d f; induction n as [|n IH]; [reflexivity|].
  replace (S n * d)%nat with (n * d + d)%nat by lia.
  rewrite sumN_split, IH; reflexivity.
Qed.

(** One term of a sum: what a Kronecker delta picks. *)
Lemma sumN_delta : forall n k f,
  (k < n)%nat -> sumN n (fun i => if Nat.eq_dec i k then f i else 0) = f k.
Proof.
  intros n k f H; induction n as [|n IH]; [lia|]; simpl.
  destruct (Nat.eq_dec n k) as [->|Hn].
  - rewrite (sumN_ext k _ (fun _ => 0)), sumN_zero; [ring|].
    intros i Hi; destruct (Nat.eq_dec i k); [lia|reflexivity].
  - rewrite IH by lia; ring.
Qed.

Lemma sumN_delta_out : forall n k f,
  ~ (k < n)%nat -> sumN n (fun i => if Nat.eq_dec i k then f i else 0) = 0.
Proof.
  intros n k f H; rewrite (sumN_ext n _ (fun _ => 0)); [apply sumN_zero|].
  intros i Hi; destruct (Nat.eq_dec i k); [lia|reflexivity].
Qed.

(** Sums over index sets that correspond: [f] over all of one range, [g] where it is not 0 over another. *)
Lemma sumN_reindex : forall n m (f g : nat -> R) (forth back : nat -> nat),
  (forall i, (i < n)%nat -> f i <> 0 -> (forth i < m)%nat /\ back (forth i) = i /\ g (forth i) = f i) ->
  (forall j, (j < m)%nat -> g j <> 0 -> (back j < n)%nat /\ forth (back j) = j /\ f (back j) = g j) ->
  sumN n f = sumN m g.
Proof.
  intros n m f g forth back Hf Hg.
  transitivity (sumN n (fun i => sumN m (fun j => if Nat.eq_dec j (forth i) then
                                                        if Nat.eq_dec i (back j) then f i else 0 else 0))).
  - apply sumN_ext; intros i Hi.
    destruct (Req_dec (f i) 0) as [E|E].
    + rewrite (sumN_ext m _ (fun _ => 0)), sumN_zero; [exact E|].
      intros j _; destruct (Nat.eq_dec j (forth i)); [|reflexivity].
      destruct (Nat.eq_dec i (back j)); [exact E|reflexivity].
    + destruct (Hf i Hi E) as [H1 [H2 _]].
      rewrite (sumN_delta m (forth i) (fun j => if Nat.eq_dec i (back j) then f i else 0)) by assumption.
      rewrite H2; destruct (Nat.eq_dec i i); [reflexivity|lia].
  - rewrite sumN_comm; apply sumN_ext; intros j Hj.
    destruct (Req_dec (g j) 0) as [E|E].
    + rewrite (sumN_ext n _ (fun _ => 0)), sumN_zero; [symmetry; exact E|].
      intros i Hi; destruct (Nat.eq_dec j (forth i)) as [Hji|]; [|reflexivity].
      destruct (Nat.eq_dec i (back j)); [|reflexivity].
      destruct (Req_dec (f i) 0) as [E'|E']; [exact E'|].
      destruct (Hf i Hi E') as [_ [_ H]]; rewrite <- Hji, E in H; congruence.
    + destruct (Hg j Hj E) as [H1 [H2 H3]].
      rewrite (sumN_ext n _ (fun i => if Nat.eq_dec i (back j) then f i else 0)).
      * rewrite sumN_delta by assumption; exact H3.
      * intros i Hi; destruct (Nat.eq_dec i (back j)) as [->|].
        -- rewrite H2; destruct (Nat.eq_dec j j); [reflexivity|lia].
        -- destruct (Nat.eq_dec j (forth i)); reflexivity.
Qed.

(** Signs. *)
Lemma sumN_nonneg : forall n f, (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sumN n f.
Proof.
  intros n f H; induction n as [|n IH]; simpl; [lra|].
  apply Rplus_le_le_0_compat; [apply IH; intros; apply H; lia|apply H; lia].
Qed.

Lemma sumN_pos : forall n f, (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sumN n f.
Proof.
  intros n f Hn H; destruct n as [|n]; [lia|]; simpl.
  apply Rplus_le_lt_0_compat; [|apply H; lia].
  apply sumN_nonneg; intros; apply Rlt_le, H; lia.
Qed.

(** A sum of terms that are not negative, one of which is not 0, is positive. *)
Lemma sumN_pos_one : forall n k f,
  (k < n)%nat -> (forall i, (i < n)%nat -> 0 <= f i) -> 0 < f k -> 0 < sumN n f.
Proof.
  intros n k f Hk H Hp; induction n as [|n IH]; [lia|]; simpl.
  destruct (Nat.eq_dec k n) as [->|].
  - apply Rplus_le_lt_0_compat; [apply sumN_nonneg; intros; apply H; lia|assumption].
  - apply Rplus_lt_le_0_compat; [apply IH; [lia|intros; apply H; lia]|apply H; lia].
Qed.

(** * Over integers *)

Definition sum_lt (n : Z) (f : Z -> R) : R := sumN (Z.to_nat n) (fun i => f (Z.of_nat i)).

(** The sum is Coquelicot's, so that its theory applies to it. *)
Lemma sum_lt_sum_n : forall n f, (0 < n)%Z -> sum_lt n f = sum_n (fun i => f (Z.of_nat i)) (Z.to_nat n - 1).
Proof.
  intros n f H; unfold sum_lt; rewrite <- sumN_sum_n; f_equal; lia.
Qed.

Lemma sum_ext : forall n f g, (forall i, (0 <= i < n)%Z -> f i = g i) -> sum_lt n f = sum_lt n g.
Proof. intros n f g H; apply sumN_ext; intros i Hi; apply H; lia. Qed.

Lemma sum_zero : forall n, sum_lt n (fun _ => 0) = 0.
Proof. intros; apply sumN_zero. Qed.

Lemma sum_all_zero : forall n f, (forall i, (0 <= i < n)%Z -> f i = 0) -> sum_lt n f = 0.
Proof. intros n f H; rewrite (sum_ext n f (fun _ => 0)) by exact H; apply sum_zero. Qed.

Lemma sum_const : forall n c, (0 <= n)%Z -> sum_lt n (fun _ => c) = IZR n * c.
Proof. intros n c H; unfold sum_lt; rewrite sumN_const, INR_IZR_INZ; f_equal; f_equal; lia. Qed.

Lemma sum_plus : forall n f g, sum_lt n (fun i => f i + g i) = sum_lt n f + sum_lt n g.
Proof. intros n f g; exact (sumN_plus _ (fun i => f (Z.of_nat i)) (fun i => g (Z.of_nat i))). Qed.

Lemma sum_minus : forall n f g, sum_lt n (fun i => f i - g i) = sum_lt n f - sum_lt n g.
Proof. intros n f g; exact (sumN_minus _ (fun i => f (Z.of_nat i)) (fun i => g (Z.of_nat i))). Qed.

Lemma sum_opp : forall n f, sum_lt n (fun i => - f i) = - sum_lt n f.
Proof. intros n f; exact (sumN_opp _ (fun i => f (Z.of_nat i))). Qed.

Lemma sum_scal_l : forall n c f, sum_lt n (fun i => c * f i) = c * sum_lt n f.
Proof. intros n c f; exact (sumN_scal_l _ c (fun i => f (Z.of_nat i))). Qed.

Lemma sum_scal_r : forall n c f, sum_lt n (fun i => f i * c) = sum_lt n f * c.
Proof. intros n c f; exact (sumN_scal_r _ c (fun i => f (Z.of_nat i))). Qed.

Lemma sum_div : forall n c f, sum_lt n (fun i => f i / c) = sum_lt n f / c.
Proof. intros; unfold Rdiv; apply sum_scal_r. Qed.

(** Sums change places. *)
Lemma sum_comm : forall n m f,
  sum_lt n (fun i => sum_lt m (fun j => f i j)) = sum_lt m (fun j => sum_lt n (fun i => f i j)).
Proof. intros n m f; exact (sumN_comm _ _ (fun i j => f (Z.of_nat i) (Z.of_nat j))). Qed.

Lemma sum_prod : forall n m f g,
  sum_lt n f * sum_lt m g = sum_lt n (fun i => sum_lt m (fun j => f i * g j)).
Proof. intros; rewrite <- sum_scal_r; apply sum_ext; intros; rewrite <- sum_scal_l; reflexivity. Qed.

(** A sum over a range in two parts. *)
Lemma sum_split : forall n m f, (0 <= n)%Z -> (0 <= m)%Z ->
  sum_lt (n + m) f = sum_lt n f + sum_lt m (fun i => f (n + i)%Z).
Proof.
  intros n m f Hn Hm; unfold sum_lt; rewrite Z2Nat.inj_add, sumN_split by assumption; f_equal.
  apply sumN_ext; intros i Hi; f_equal; lia.
Qed.

(** Row-major: one range for two. *)
Lemma sum_flatten : forall n d f, (0 <= n)%Z -> (0 <= d)%Z ->
  sum_lt (n * d) f = sum_lt n (fun i => sum_lt d (fun j => f (i * d + j)%Z)).
Proof.
  intros n d f Hn Hd; unfold sum_lt; rewrite Z2Nat.inj_mul, sumN_flatten by assumption.
  apply sumN_ext; intros i Hi; apply sumN_ext; intros j Hj; f_equal; nia.
Qed.

(** Sums over index sets that correspond: [f] where it is not 0 over one range, [g] over another. *)
Lemma sum_reindex : forall n m (f g : Z -> R) (forth back : Z -> Z),
  (forall i, (0 <= i < n)%Z -> f i <> 0 -> (0 <= forth i < m)%Z /\ back (forth i) = i /\ g (forth i) = f i) ->
  (forall j, (0 <= j < m)%Z -> g j <> 0 -> (0 <= back j < n)%Z /\ forth (back j) = j /\ f (back j) = g j) ->
  sum_lt n f = sum_lt m g.
Proof.
  intros n m f g forth back Hf Hg.
  apply (sumN_reindex _ _ _ _ (fun i => Z.to_nat (forth (Z.of_nat i))) (fun j => Z.to_nat (back (Z.of_nat j)))).
  - intros i Hi E; destruct (Hf (Z.of_nat i)) as [H1 [H2 H3]]; [lia|assumption|].
    rewrite Z2Nat.id by lia; rewrite H2, H3; repeat split; lia.
  - intros j Hj E; destruct (Hg (Z.of_nat j)) as [H1 [H2 H3]]; [lia|assumption|].
    rewrite Z2Nat.id by lia; rewrite H2, H3; repeat split; lia.
Qed.

(** One term of a sum: what a Kronecker delta picks. *)
Lemma sum_single : forall n k f, (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> i <> k -> f i = 0) -> sum_lt n f = f k.
Proof.
  intros n k f Hk H.
  rewrite (sum_reindex n 1 f (fun _ => f k) (fun _ => 0%Z) (fun _ => k)); [unfold sum_lt; simpl; ring| |].
  - intros i Hi E; destruct (Z.eq_dec i k) as [->|N]; [repeat split; lia || reflexivity|].
    rewrite (H i Hi N) in E; lra.
  - intros j Hj E; repeat split; lia || reflexivity.
Qed.

(** Signs. *)
Lemma sum_nonneg : forall n f, (forall i, (0 <= i < n)%Z -> 0 <= f i) -> 0 <= sum_lt n f.
Proof. intros n f H; apply sumN_nonneg; intros; apply H; lia. Qed.

Lemma sum_pos : forall n f, (0 < n)%Z -> (forall i, (0 <= i < n)%Z -> 0 < f i) -> 0 < sum_lt n f.
Proof. intros n f Hn H; apply sumN_pos; [lia|]; intros; apply H; lia. Qed.

(** A sum of terms that are not negative, one of which is positive. *)
Lemma sum_pos_one : forall n k f,
  (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> 0 <= f i) -> 0 < f k -> 0 < sum_lt n f.
Proof.
  intros n k f Hk H Hp; apply (sumN_pos_one _ (Z.to_nat k)); [lia|intros; apply H; lia|].
  rewrite Z2Nat.id by lia; exact Hp.
Qed.
