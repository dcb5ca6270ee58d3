(** The graph theorem: reverse accumulation over a list of nodes, each with its own certificate, gives the adjoint of
    the derivative of the whole.

    A slot holds a vector; slots below [inputs] are given, each node fills the next one from those before it. *)

From Coq Require Import Reals Lra Lia ZArith Arith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves.
Open Scope R_scope.

Definition vector := Z -> R.
Definition slots := nat -> vector.

(** What a node computes from the slots, how it moves with them, and what it gives back to each for a seed. *)
Record node := {
  run : slots -> vector;
  push : slots -> slots -> vector;
  pull : slots -> vector -> slots;
  domain : slots -> Prop
}.

Section Graph.

Variable inputs : nat.
Variable size : nat -> Z.
Variable nodes : nat -> node.

Definition dot (n : Z) (u v : vector) : R := sum_lt n (fun i => u i * v i).

(** The bilinear form of all slots below [n]. *)
Definition pair (n : nat) (u v : slots) : R := sumN n (fun j => dot (size j) (u j) (v j)).

Definition set (x : slots) (k : nat) (v : vector) : slots := fun j => if Nat.eq_dec j k then v else x j.

(** The slots after [p] nodes have run, and how they move. *)
Fixpoint values (p : nat) (x : slots) : slots :=
  match p with
  | O => x
  | S q => set (values q x) (inputs + q) (run (nodes q) (values q x))
  end.

Fixpoint tangents (p : nat) (x dx : slots) : slots :=
  match p with
  | O => dx
  | S q => set (tangents q x dx) (inputs + q) (push (nodes q) (values q x) (tangents q x dx))
  end.

(** Reverse accumulation: the last node gives back what its slot has gathered, then the one before it. *)
Fixpoint sweep (p : nat) (x : slots) (gathered : slots) : slots :=
  match p with
  | O => gathered
  | S q => sweep q x (fun j i => gathered j i + pull (nodes q) (values q x) (gathered (inputs + q)%nat) j i)
  end.

(** The certificates of a node: what its obligations say. *)
Definition adjoint_at (q : nat) : Prop :=
  forall x dx seed, domain (nodes q) x ->
    dot (size (inputs + q)) (push (nodes q) x dx) seed = pair (inputs + q) dx (pull (nodes q) x seed).

Definition derivative_at (q : nat) : Prop :=
  forall (x : R -> slots) (dx : slots), domain (nodes q) (x 0) ->
    (forall j i, (j < inputs + q)%nat -> (0 <= i < size j)%Z -> is_derive (fun t => x t j i) 0 (dx j i)) ->
    forall i, (0 <= i < size (inputs + q))%Z -> is_derive (fun t => run (nodes q) (x t) i) 0 (push (nodes q) (x 0) dx i).

Definition in_domain (p : nat) (x : slots) : Prop := forall q, (q < p)%nat -> domain (nodes q) (values q x).

Lemma dot_plus : forall n u v w, dot n u (fun i => v i + w i) = dot n u v + dot n u w.
Proof. intros; unfold dot; rewrite <- sum_plus; apply sum_ext; intros; ring. Qed.

Lemma pair_plus : forall n u v w, pair n u (fun j i => v j i + w j i) = pair n u v + pair n u w.
Proof. intros; unfold pair; rewrite <- sumN_plus; apply sumN_ext; intros; apply dot_plus. Qed.

Lemma pair_set_below : forall n k u v w, (n <= k)%nat -> pair n (set u k w) v = pair n u v.
Proof.
  intros n k u v w H; unfold pair; apply sumN_ext; intros j Hj; unfold set.
  destruct (Nat.eq_dec j k); [lia|reflexivity].
Qed.

(** The adjoint law of the whole tape, from that of each node. *)
Theorem sweep_is_adjoint : forall p x dx gathered,
  (forall q, (q < p)%nat -> adjoint_at q) -> in_domain p x ->
  pair (inputs + p) (tangents p x dx) gathered = pair inputs dx (sweep p x gathered).
Proof.
  induction p as [|p IH]; intros x dx gathered C D.
  - rewrite Nat.add_0_r; reflexivity.
  - simpl tangents; simpl sweep.
    rewrite <- IH; [| intros; apply C; lia | intros q Hq; apply D; lia].
    rewrite pair_plus, <- (C p) by (lia || (apply D; lia)).
    rewrite Nat.add_succ_r; unfold pair at 1; simpl sumN.
    fold (pair (inputs + p) (set (tangents p x dx) (inputs + p) (push (nodes p) (values p x) (tangents p x dx))) gathered).
    rewrite pair_set_below by lia; f_equal.
    unfold set; destruct (Nat.eq_dec (inputs + p) (inputs + p)); [reflexivity|lia].
Qed.

(** Every slot moves as its tangent says, from the derivative law of each node. *)
Theorem tangents_are_derivatives : forall p (x dx : slots),
  (forall q, (q < p)%nat -> derivative_at q) -> in_domain p x ->
  forall j i, (j < inputs + p)%nat -> (0 <= i < size j)%Z ->
  is_derive (fun t => values p (fun j i => x j i + t * dx j i) j i) 0 (tangents p x dx j i).
Proof.
  intros p x dx.
  assert (At0 : forall q, values q (fun j i => x j i + 0 * dx j i) = values q x).
  { intro q; f_equal; apply FunctionalExtensionality.functional_extensionality; intro j.
    apply FunctionalExtensionality.functional_extensionality; intro i; ring. }
  induction p as [|p IH]; intros C D j i Hj Hi.
  - simpl; apply (dual_line (x j i) (dx j i)).
  - simpl; unfold set; destruct (Nat.eq_dec j (inputs + p)) as [->|N].
    + rewrite <- At0; apply (C p ltac:(lia) (fun t => values p (fun j i => x j i + t * dx j i))).
      * rewrite At0; apply D; lia.
      * intros k l Hk Hl; apply IH; [intros; apply C; lia|intros q Hq; apply D; lia|exact Hk|exact Hl].
      * exact Hi.
    + apply IH; [intros; apply C; lia|intros q Hq; apply D; lia|lia|exact Hi].
Qed.

(** The gradient of a loss, which is the single entry of the last slot: what the sweep leaves in the inputs. *)
Definition seed_of (k : nat) : slots := fun j _ => if Nat.eq_dec j k then 1 else 0.

Theorem sweep_is_gradient : forall p (x dx : slots),
  (forall q, (q <= p)%nat -> derivative_at q) -> (forall q, (q <= p)%nat -> adjoint_at q) ->
  in_domain (S p) x -> size (inputs + p) = 1%Z ->
  is_derive (fun t => values (S p) (fun j i => x j i + t * dx j i) (inputs + p)%nat 0%Z) 0
            (pair inputs dx (sweep (S p) x (seed_of (inputs + p)))).
Proof.
  intros p x dx C A D One.
  assert (E := tangents_are_derivatives (S p) x dx ltac:(intros; apply C; lia) D (inputs + p)%nat 0%Z ltac:(lia) ltac:(lia)).
  rewrite <- sweep_is_adjoint by (assumption || (intros; apply A; lia)).
  replace (pair (inputs + S p) (tangents (S p) x dx) (seed_of (inputs + p)))
    with (tangents (S p) x dx (inputs + p)%nat 0%Z); [exact E|].
  rewrite Nat.add_succ_r; unfold pair; cbn [sumN].
  rewrite (sumN_ext _ _ (fun _ => 0)), sumN_zero.
  - unfold dot, seed_of; rewrite One; destruct (Nat.eq_dec (inputs + p) (inputs + p)); [|lia].
    unfold sum_lt; change (Z.to_nat 1) with 1%nat; cbn [sumN]; change (Z.of_nat 0) with 0%Z; ring.
  - intros j Hj; unfold dot, seed_of; destruct (Nat.eq_dec j (inputs + p)); [lia|].
    apply sum_all_zero; intros; ring.
Qed.

End Graph.
