(** Products over ranges: their derivative along curves, and ends that are taken off. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise.
Open Scope R_scope.

Lemma prodN_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> prodN n f = prodN n g.
Proof.
  intros n f g H; induction n as [|n IH]; [reflexivity|]; simpl.
  rewrite IH by (intros; apply H; lia); rewrite (H n) by lia; reflexivity.
Qed.

Lemma prod_ext : forall n f g, (forall i, (0 <= i < n)%Z -> f i = g i) -> prod_lt n f = prod_lt n g.
Proof. intros n f g H; apply prodN_ext; intros i Hi; apply H; lia. Qed.

(** The derivative of a product: each factor moves, beside those before it and those after it. *)
Lemma dual_prodN : forall n f v d,
  (forall i, (i < n)%nat -> dual (fun t => f t i) (v i) (d i)) ->
  dual (fun t => prodN n (f t)) (prodN n v)
       (sumN n (fun i => prodN i v * prodN (n - 1 - i) (fun k => v (i + 1 + k)%nat) * d i)).
Proof.
  intros n f v d H; induction n as [|n IH]; [apply dual_const|].
  eapply dual_eq; [simpl; apply dual_mult; [apply IH; intros; apply H; lia|apply H; lia]|reflexivity|].
  match goal with |- _ = sumN (S n) ?g => change (sumN (S n) g) with (sumN n g + g n) end; cbv beta.
  rewrite <- sumN_scal_r; f_equal.
  - apply sumN_ext; intros i Hi.
    assert (E : (S n - 1 - i = S (n - 1 - i))%nat) by lia; rewrite E.
    assert (P : prodN (S (n - 1 - i)) (fun k => v (i + 1 + k)%nat) = prodN (n - 1 - i) (fun k => v (i + 1 + k)%nat) * v n).
    { change (prodN (n - 1 - i) (fun k => v (i + 1 + k)%nat) * v (i + 1 + (n - 1 - i))%nat = prodN (n - 1 - i) (fun k => v (i + 1 + k)%nat) * v n).
      do 2 f_equal; lia. }
    rewrite P; ring.
  - assert (E : (S n - 1 - n = 0)%nat) by lia; rewrite E; change (prodN 0 (fun k => v (n + 1 + k)%nat)) with 1; ring.
Qed.

Lemma dual_prod : forall n f v d,
  (forall i, (0 <= i < n)%Z -> dual (fun t => f t i) (v i) (d i)) ->
  dual (fun t => prod_lt n (f t)) (prod_lt n (fun i => v i))
       (sum_lt n (fun i => prod_lt i (fun k => v k) * prod_lt (n - 1 - i) (fun k => v (i + 1 + k)%Z) * d i)).
Proof.
  intros n f v d H.
  eapply dual_eq;
    [exact (dual_prodN (Z.to_nat n) (fun t i => f t (Z.of_nat i)) _ _ (fun i Hi => H (Z.of_nat i) ltac:(lia)))|reflexivity|].
  unfold sum_lt; apply sumN_ext; intros i Hi; unfold prod_lt; f_equal; f_equal.
  - rewrite Nat2Z.id; reflexivity.
  - replace (Z.to_nat (n - 1 - Z.of_nat i)) with (Z.to_nat n - 1 - i)%nat by lia.
    apply prodN_ext; intros k Hk; f_equal; lia.
Qed.

Lemma prod_last : forall n f, (0 <= n)%Z -> prod_lt (n + 1) f = prod_lt n f * f n.
Proof.
  intros n f H; unfold prod_lt; replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia; simpl.
  rewrite Z2Nat.id by lia; reflexivity.
Qed.

Lemma prodN_first : forall n f, prodN (S n) f = f O * prodN n (fun k => f (S k)).
Proof. intros n f; induction n as [|n IH]; [simpl; ring|]; change (prodN (S (S n)) f) with (prodN (S n) f * f (S n)); rewrite IH; simpl; ring. Qed.

Lemma prod_first : forall n f, (0 <= n)%Z -> prod_lt (n + 1) f = f 0%Z * prod_lt n (fun k => f (k + 1)%Z).
Proof.
  intros n f H; unfold prod_lt; replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia; rewrite prodN_first; f_equal.
  apply prodN_ext; intros k Hk; f_equal; lia.
Qed.

(** A product that begins, or ends, with 1. *)
Lemma prod_after : forall n m f g, (0 <= m)%Z -> n = (m + 1)%Z -> f 0%Z = 1 ->
  (forall k, (0 <= k < m)%Z -> f (k + 1)%Z = g k) -> prod_lt n f = prod_lt m g.
Proof. intros n m f g H -> O E; rewrite prod_first, O, Rmult_1_l by exact H; apply prod_ext, E. Qed.

Lemma prod_before : forall n m f g, (0 <= m)%Z -> n = (m + 1)%Z -> f m = 1 ->
  (forall k, (0 <= k < m)%Z -> f k = g k) -> prod_lt n f = prod_lt m g.
Proof. intros n m f g H -> O E; rewrite prod_last, O, Rmult_1_r by exact H; apply prod_ext, E. Qed.
