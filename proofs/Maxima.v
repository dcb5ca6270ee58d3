(** Greatest and least entries of a range, their derivative where they are attained once, and what they bound. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise.
Open Scope R_scope.

Fixpoint maxN (n : nat) (f : nat -> R) : R :=
  match n with
  | O => f O
  | S m => Rmax (maxN m f) (f (S m))
  end.

(** The greatest of [f 0 .. f (n - 1)], for [n] at least 1. *)
Definition max_lt (n : Z) (f : Z -> R) : R := maxN (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i)).
Definition min_lt (n : Z) (f : Z -> R) : R := - max_lt n (fun i => - f i).

Lemma maxN_le : forall n f k, (k <= n)%nat -> f k <= maxN n f.
Proof.
  intros n f k H; induction n as [|n IH]; simpl.
  - replace k with O by lia; lra.
  - destruct (Nat.eq_dec k (S n)) as [->|N]; [apply Rmax_r|].
    apply Rle_trans with (maxN n f); [apply IH; lia|apply Rmax_l].
Qed.

Lemma maxN_attained : forall n f, exists k, (k <= n)%nat /\ maxN n f = f k.
Proof.
  intros n f; induction n as [|n [k [Hk E]]]; simpl.
  - exists O; split; [lia|reflexivity].
  - unfold Rmax; destruct (Rle_dec (maxN n f) (f (S n))).
    + exists (S n); split; [lia|reflexivity].
    + exists k; split; [lia|exact E].
Qed.

Lemma maxN_ext : forall n f g, (forall i, (i <= n)%nat -> f i = g i) -> maxN n f = maxN n g.
Proof.
  intros n f g H; induction n as [|n IH]; simpl; [apply H; lia|].
  rewrite IH by (intros; apply H; lia); rewrite (H (S n)) by lia; reflexivity.
Qed.

Lemma max_le : forall n f k, (0 <= k < n)%Z -> f k <= max_lt n f.
Proof.
  intros n f k H; unfold max_lt.
  assert (L := maxN_le (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i)) (Z.to_nat k) ltac:(lia)).
  cbv beta in L; rewrite Z2Nat.id in L by lia; exact L.
Qed.

Lemma max_attained : forall n f, (0 < n)%Z -> exists k, (0 <= k < n)%Z /\ max_lt n f = f k.
Proof.
  intros n f H; unfold max_lt; destruct (maxN_attained (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))) as [k [Hk E]].
  exists (Z.of_nat k); split; [lia|exact E].
Qed.

Lemma max_ext : forall n f g, (0 < n)%Z -> (forall i, (0 <= i < n)%Z -> f i = g i) -> max_lt n f = max_lt n g.
Proof. intros n f g Hn H; apply maxN_ext; intros i Hi; apply H; lia. Qed.

Lemma maxN_unique : forall n f k, (k <= n)%nat -> (forall i, (i <= n)%nat -> f i <= f k) -> maxN n f = f k.
Proof.
  intros n f k Hk H; apply Rle_antisym.
  - destruct (maxN_attained n f) as [j [Hj ->]]; apply H; exact Hj.
  - apply maxN_le; exact Hk.
Qed.

(** Where the greatest entry is attained once, the maximum moves with it. *)
Lemma dual_maxN : forall n f v d k,
  (k <= n)%nat -> (forall i, (i <= n)%nat -> dual (fun t => f t i) (v i) (d i)) ->
  (forall i, (i <= n)%nat -> i <> k -> v i < v k) ->
  dual (fun t => maxN n (f t)) (maxN n v) (d k).
Proof.
  intros n f v d k Hk H U.
  replace (maxN n v) with (v k).
  - apply (dual_local (fun t => f t k)); [|apply H; exact Hk].
    assert (L : forall m, (m <= n)%nat -> locally 0 (fun t => forall i, (i <= m)%nat -> i <> k -> f t i < f t k)).
    { induction m as [|m IH]; intro Hm.
      - destruct (Nat.eq_dec O k) as [<-|N].
        + apply filter_forall; intros t i Hi Ni; lia.
        + generalize (dual_lt _ _ _ _ _ _ (H O Hm) (H k Hk) (U O Hm N)); apply filter_imp.
          intros t L i Hi _; replace i with O by lia; exact L.
      - assert (IH' := IH ltac:(lia)).
        destruct (Nat.eq_dec (S m) k) as [E|N].
        + revert IH'; apply filter_imp; intros t L i Hi Ni; apply L; lia.
        + generalize (filter_and _ _ IH' (dual_lt _ _ _ _ _ _ (H (S m) Hm) (H k Hk) (U (S m) Hm N))); apply filter_imp.
          intros t [L K] i Hi Ni; destruct (Nat.eq_dec i (S m)) as [->|]; [exact K|apply L; lia]. }
    generalize (L n (le_n n)); apply filter_imp; intros t K; symmetry; apply maxN_unique; [exact Hk|].
    intros i Hi; destruct (Nat.eq_dec i k) as [->|N]; [apply Rle_refl|apply Rlt_le, K; assumption].
  - symmetry; apply maxN_unique; [exact Hk|].
    intros i Hi; destruct (Nat.eq_dec i k) as [->|N]; [apply Rle_refl|apply Rlt_le, U; assumption].
Qed.

Lemma dual_max : forall n f v d k,
  (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> dual (fun t => f t i) (v i) (d i)) ->
  (forall i, (0 <= i < n)%Z -> i <> k -> v i < v k) ->
  dual (fun t => max_lt n (f t)) (max_lt n v) (d k).
Proof.
  intros n f v d k Hk H U; unfold max_lt.
  assert (L : forall i, (i <= Z.to_nat (n - 1))%nat -> dual (fun t => f t (Z.of_nat i)) (v (Z.of_nat i)) (d (Z.of_nat i)))
    by (intros i Hi; apply H; lia).
  assert (Hk' : (Z.to_nat k <= Z.to_nat (n - 1))%nat) by lia.
  assert (D := dual_maxN _ (fun t i => f t (Z.of_nat i)) (fun i => v (Z.of_nat i)) (fun i => d (Z.of_nat i)) _ Hk' L).
  cbv beta in D; rewrite Z2Nat.id in D by lia; apply D.
  intros i Hi N; apply U; lia.
Qed.

(** The maximum is attained once: what certificates say of it. *)
Definition unique_max (n : Z) (f : Z -> R) : Prop :=
  exists k, (0 <= k < n)%Z /\ forall i, (0 <= i < n)%Z -> i <> k -> f i < f k.

(** The first place where the greatest entry is. *)
Fixpoint argmaxN (n : nat) (f : nat -> R) : nat :=
  match n with
  | O => O
  | S m => if Rltb (f (argmaxN m f)) (f (S m)) then S m else argmaxN m f
  end.

Definition argmax_lt (n : Z) (f : Z -> R) : Z := Z.of_nat (argmaxN (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))).

Lemma argmaxN_range : forall n f, (argmaxN n f <= n)%nat.
Proof. intros n f; induction n as [|n IH]; simpl; [lia|]; destruct (Rltb _ _); lia. Qed.

Lemma argmaxN_max : forall n f, f (argmaxN n f) = maxN n f.
Proof.
  intros n f; induction n as [|n IH]; simpl; [reflexivity|]; rewrite <- IH.
  unfold Rmax; destruct (Rltb_spec (f (argmaxN n f)) (f (S n))); destruct (Rle_dec (f (argmaxN n f)) (f (S n))); lra || reflexivity.
Qed.

Lemma argmax_range : forall n f, (0 < n)%Z -> (0 <= argmax_lt n f < n)%Z.
Proof. intros n f H; unfold argmax_lt; assert (K := argmaxN_range (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))); lia. Qed.

Lemma argmax_max : forall n f, f (argmax_lt n f) = max_lt n f.
Proof. intros n f; unfold argmax_lt, max_lt; apply (argmaxN_max _ (fun i => f (Z.of_nat i))). Qed.

Lemma argmax_unique : forall n f k,
  (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> i <> k -> f i < f k) -> argmax_lt n f = k.
Proof.
  intros n f k Hk H; destruct (Z.eq_dec (argmax_lt n f) k) as [E|N]; [exact E|].
  assert (R := argmax_range n f ltac:(lia)).
  assert (L := H _ R N); rewrite argmax_max in L; assert (M := max_le n f k Hk); lra.
Qed.
