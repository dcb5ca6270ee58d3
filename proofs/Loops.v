(** Graphs inside nodes: a graph as an operation, and a loop whose step is an operation.

    A loop takes constants, what it carries at the beginning, and rows, one a step; it gives what it carries in the end,
    and what each step puts out. Its length is any number. *)

From Coq Require Import Reals Lra Lia ZArith Arith Bool List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Graph.
Open Scope R_scope.

(** * A graph as an operation *)

Definition asks_nothing (nodes : list node) : bool :=
  forallb (fun n => match domain (does n) with [] => true | _ => false end) nodes.

Lemma nothing_is_asked : forall nodes from x, asks_nothing nodes = true -> in_domain from nodes x.
Proof.
  induction nodes as [|n nodes IH]; intros from x H; [exact I|].
  apply andb_true_iff in H; destruct H as [H1 H2]; cbn [in_domain].
  destruct (domain (does n)); [apply IH; exact H2 | discriminate H1].
Qed.

Definition of_graph (inputs : list shape) (nodes : list node) (outs : list nat) (ts : list shape) : operation := {|
  takes := inputs;
  gives := ts;
  run := fun x => of_slots outs (values (length inputs) nodes x);
  push := fun x dx => of_slots outs (tangents (length inputs) nodes x dx);
  pull := fun x seeds => sweep (length inputs) nodes x (scatter outs seeds);
  domain := if asks_nothing nodes then [] else [in_domain (length inputs) nodes]
|}.

Definition is_lawful (o : operation) : Prop := adjoint_law o /\ derivative_law o.

Theorem graph_is_lawful : forall inputs nodes outs ts,
  well_formed inputs nodes outs ts -> List.Forall lawful nodes -> is_lawful (of_graph inputs nodes outs ts).
Proof.
  intros inputs nodes outs ts W C.
  assert (A : forall x, asked (domain (of_graph inputs nodes outs ts)) x True -> in_domain (length inputs) nodes x).
  { intros x H; cbn [domain of_graph] in H; destruct (asks_nothing nodes) eqn:E; [apply nothing_is_asked; exact E | apply H]. }
  split.
  - intros x dx seed D; exact (outputs_are_given_back inputs nodes outs ts x dx seed W C (A x D)).
  - intros curve x dx D M k s i _ _; apply (values_move nodes (length inputs) curve x dx C (A x D) M).
Qed.

(** A tensor that does not move, in a slot. *)
Definition constant (s : shape) (u : tensor) : operation := {|
  takes := [];
  gives := [s];
  run := fun _ => slots_of [u];
  push := fun _ _ => slots_of [zero];
  pull := fun _ _ => slots_of [];
  domain := []
|}.

Lemma constant_is_lawful : forall s u places, lawful {| does := constant s u; reads := places |}.
Proof.
  intros s u places; split.
  - intros x dx seed _; cbn; unfold dot, zero; rewrite Rplus_0_r, (sum_over_ext s _ (fun _ => 0)) by (intros; ring).
    apply sum_over_zero.
  - intros curve x dx _ _ [|k] r i E _; cbn in *; [apply (is_derive_const (u i)) | destruct k; discriminate].
Qed.

(** * A loop *)

Section Loop.

(** The step takes constants, what is carried, and a row of each of the [rows]; it gives what is carried next, and [ys]. *)
Variables (consts carries rows ys : list shape) (step : operation) (n : Z).

Let c := length consts.
Let m := length carries.

(** What the step reads at time [s]. *)
Definition feed (s : nat) (x carried : slots) : slots := fun k =>
  if (k <? c)%nat then x k
  else if (k <? c + m)%nat then carried (k - c)%nat
  else fun i => x k (Z.of_nat s :: i).

(** Of the step's outputs those that are carried. *)
Definition kept (v : slots) : slots := fun k =>
  match nth_error carries k with Some s => within s (v k) | None => zero end.

(** What is carried at time [s]. *)
Fixpoint carried (s : nat) (x : slots) : slots :=
  match s with
  | O => fun k => x (c + k)%nat
  | S s' => kept (run step (feed s' x (carried s' x)))
  end.

Fixpoint carried_tangents (s : nat) (x dx : slots) : slots :=
  match s with
  | O => fun k => dx (c + k)%nat
  | S s' => kept (push step (feed s' x (carried s' x)) (feed s' dx (carried_tangents s' x dx)))
  end.

(** What a step gives in the end, or at each time. *)
Definition collect (last : slots) (each : nat -> slots) : slots := fun k =>
  if (k <? m)%nat then last k
  else fun i => match i with s :: i' => each (Z.to_nat s) k i' | [] => 0 end.

(** The seeds of the step at time [s], where [later] is what comes back to what is carried next. *)
Definition seeds_at (s : nat) (later seed : slots) : slots := fun k =>
  if (k <? m)%nat then later k else fun i => seed k (Z.of_nat s :: i).

(** What the step gives back at time [s]. *)
Definition back (s : nat) (x seed later : slots) : slots := pull step (feed s x (carried s x)) (seeds_at s later seed).

(** What comes back to what is carried, [j] steps before the end. *)
Fixpoint come_back (j : nat) (x seed : slots) : slots :=
  match j with
  | O => seed
  | S j' => fun k => back (Z.to_nat n - S j') x seed (come_back j' x seed) (c + k)%nat
  end.

Definition back_at (s : nat) (x seed : slots) : slots := back s x seed (come_back (Z.to_nat n - S s) x seed).

Definition loop : operation := {|
  takes := consts ++ carries ++ map (cons n) rows;
  gives := carries ++ map (cons n) ys;
  run := fun x => collect (carried (Z.to_nat n) x) (fun s => run step (feed s x (carried s x)));
  push := fun x dx => collect (carried_tangents (Z.to_nat n) x dx)
    (fun s => push step (feed s x (carried s x)) (feed s dx (carried_tangents s x dx)));
  pull := fun x seed k =>
    if (k <? c)%nat then fun i => sumN (Z.to_nat n) (fun s => back_at s x seed k i)
    else if (k <? c + m)%nat then come_back (Z.to_nat n) x seed (k - c)%nat
    else fun i => match i with s :: i' => back_at (Z.to_nat s) x seed k i' | [] => 0 end;
  domain := match domain step with
            | [] => []
            | _ => [fun x => forall s, (s < Z.to_nat n)%nat -> asked (domain step) (feed s x (carried s x)) True]
            end
|}.

Lemma asked_of_steps : forall x, asked (domain loop) x True ->
  forall s, (s < Z.to_nat n)%nat -> asked (domain step) (feed s x (carried s x)) True.
Proof.
  intros x H s Hs; cbn [domain loop] in H; destruct (domain step); [exact I | destruct H as [H _]; apply H; exact Hs].
Qed.

Hypothesis Takes : takes step = consts ++ carries ++ rows.
Hypothesis Gives : gives step = carries ++ ys.
Hypothesis Lawful : is_lawful step.

(** ** The derivative *)

Lemma carried_move : forall (curve : R -> slots) x dx, (forall k i, dual (fun t => curve t k i) (x k i) (dx k i)) ->
  forall s, (forall r, (r < s)%nat -> asked (domain step) (feed r x (carried r x)) True) ->
  forall k i, dual (fun t => carried s (curve t) k i) (carried s x k i) (carried_tangents s x dx k i).
Proof.
  intros curve x dx M.
  assert (At0 : curve 0 = x).
  { apply functional_extensionality; intro j; apply functional_extensionality; intro i; apply (M j i). }
  induction s as [|s IH]; intros D k i; [apply M|].
  cbn [carried carried_tangents]; unfold kept.
  destruct (nth_error carries k) as [r|] eqn:E; [|apply (dual_const 0)].
  unfold within; destruct (is_inside r i) eqn:K; [|apply (dual_const 0)].
  split; [rewrite At0; reflexivity|].
  apply (proj2 Lawful (fun t => feed s (curve t) (carried s (curve t))) (feed s x (carried s x))
           (feed s dx (carried_tangents s x dx))) with (s := r).
  - apply D; lia.
  - intros l q; unfold feed; destruct (l <? c)%nat; [apply M|].
    destruct (l <? c + m)%nat; [apply IH; intros; apply D; lia|apply M].
  - rewrite Gives, nth_error_app1; [exact E|apply nth_error_Some; rewrite E; discriminate].
  - apply decided_inside; exact K.
Qed.

Lemma step_moves : forall (curve : R -> slots) x dx, (forall k i, dual (fun t => curve t k i) (x k i) (dx k i)) ->
  forall s, (forall r, (r <= s)%nat -> asked (domain step) (feed r x (carried r x)) True) ->
  forall k r i, nth_error (gives step) k = Some r -> inside r i ->
  is_derive (fun t => run step (feed s (curve t) (carried s (curve t))) k i) 0
    (push step (feed s x (carried s x)) (feed s dx (carried_tangents s x dx)) k i).
Proof.
  intros curve x dx M s D k r i E K.
  apply (proj2 Lawful (fun t => feed s (curve t) (carried s (curve t))) (feed s x (carried s x))
           (feed s dx (carried_tangents s x dx))) with (s := r); [apply D; lia | | exact E | exact K].
  intros l q; unfold feed; destruct (l <? c)%nat; [apply M|].
  destruct (l <? c + m)%nat; [apply carried_move; [exact M|intros; apply D; lia]|apply M].
Qed.

Lemma loop_moves : derivative_law loop.
Proof.
  intros curve x dx D' M k r i E K; assert (D := asked_of_steps x D'); cbn [run push loop]; unfold collect; cbn [gives loop] in E.
  destruct (Nat.ltb_spec k m) as [L|L].
  - apply carried_move; [exact M|exact D].
  - rewrite nth_error_app2 in E by exact L; fold m in E.
    destruct (nth_error ys (k - m)) as [y|] eqn:Y.
    2: { apply nth_error_None in Y; rewrite <- (map_length (cons n)) in Y; apply nth_error_None in Y; unfold shape in *; congruence. }
    assert (r = n :: y) as -> by (assert (P := map_nth_error (cons n) _ _ Y); unfold shape in *; congruence).
    destruct i as [|s i]; [destruct K|]; destruct K as [K1 K2].
    apply (step_moves curve x dx M (Z.to_nat s)) with (r := y).
    + intros q Hq; apply D; lia.
    + rewrite Gives, nth_error_app2 by exact L; exact Y.
    + exact K2.
Qed.

(** ** The adjoint: what one step gives back telescopes *)

Lemma pair_parts : forall (u v : slots),
  pair (consts ++ carries ++ rows) u v
  = pair consts u v + (pair carries (fun k => u (c + k)%nat) (fun k => v (c + k)%nat)
                       + pair rows (fun k => u (c + m + k)%nat) (fun k => v (c + m + k)%nat)).
Proof.
  intros u v; rewrite pair_app; fold c; rewrite pair_app; fold m; f_equal; f_equal.
  apply pair_ext; intros; rewrite Nat.add_assoc; reflexivity.
Qed.

Lemma pair_kept : forall v w, pair carries (kept v) w = pair carries v w.
Proof. intros v w; apply pair_ext; intros k s E; unfold kept; rewrite E; apply dot_within. Qed.

Lemma pair_stacked : forall ss (u v : slots),
  pair (map (cons n) ss) u v = sumN (Z.to_nat n) (fun s => pair ss (fun k i => u k (Z.of_nat s :: i)) (fun k i => v k (Z.of_nat s :: i))).
Proof.
  induction ss as [|s ss IH]; intros u v; cbn [map pair].
  - symmetry; apply sumN_zero.
  - change (dot (n :: s) (u O) (v O))
      with (sumN (Z.to_nat n) (fun r => dot s (fun i => u O (Z.of_nat r :: i)) (fun i => v O (Z.of_nat r :: i)))).
    rewrite (IH (fun k => u (S k)) (fun k => v (S k))), <- sumN_plus; reflexivity.
Qed.

Lemma pair_sum : forall ss N (u : slots) (v : nat -> slots),
  pair ss u (fun k i => sumN N (fun s => v s k i)) = sumN N (fun s => pair ss u (v s)).
Proof.
  intros ss N u v; induction N as [|N IH]; cbn [sumN]; [apply pair_zero|].
  rewrite <- IH; apply (pair_plus ss u (fun k i => sumN N (fun s => v s k i)) (v N)).
Qed.

Lemma come_back_step : forall s x seed k, (s < Z.to_nat n)%nat ->
  come_back (Z.to_nat n - s) x seed k = back_at s x seed (c + k)%nat.
Proof.
  intros s x seed k H; replace (Z.to_nat n - s)%nat with (S (Z.to_nat n - S s)) by lia.
  cbn [come_back]; unfold back_at; replace (Z.to_nat n - S (Z.to_nat n - S s))%nat with s by lia; reflexivity.
Qed.

Lemma one_step : forall s x dx seed later, asked (domain step) (feed s x (carried s x)) True ->
  pair carries (carried_tangents (S s) x dx) later
  + pair ys (fun k => push step (feed s x (carried s x)) (feed s dx (carried_tangents s x dx)) (m + k)%nat)
            (fun k i => seed (m + k)%nat (Z.of_nat s :: i))
  = pair consts dx (back s x seed later)
    + (pair carries (carried_tangents s x dx) (fun k => back s x seed later (c + k)%nat)
       + pair rows (fun k i => dx (c + m + k)%nat (Z.of_nat s :: i)) (fun k => back s x seed later (c + m + k)%nat)).
Proof.
  intros s x dx seed later D.
  assert (A := proj1 Lawful _ (feed s dx (carried_tangents s x dx)) (seeds_at s later seed) D).
  rewrite Takes, Gives, pair_parts, pair_app in A; fold m in A; fold (back s x seed later) in A.
  cbn [carried_tangents]; rewrite pair_kept.
  etransitivity; [|etransitivity; [exact A|]].
  - f_equal; apply pair_ext; intros k r E; f_equal.
    + unfold seeds_at; assert (k < m)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec k m); [reflexivity|lia].
    + unfold seeds_at; destruct (Nat.ltb_spec (m + k) m); [lia|reflexivity].
  - f_equal; [|f_equal]; apply pair_ext; intros k r E; f_equal; unfold feed.
    + assert (k < c)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec k c); [reflexivity|lia].
    + assert (k < m)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec (c + k) c); [lia|]; destruct (Nat.ltb_spec (c + k) (c + m)); [|lia].
      replace (c + k - c)%nat with k by lia; reflexivity.
    + destruct (Nat.ltb_spec (c + m + k) c); [lia|]; destruct (Nat.ltb_spec (c + m + k) (c + m)); [lia|reflexivity].
Qed.

Lemma steps : forall x dx seed,
  (forall s, (s < Z.to_nat n)%nat -> asked (domain step) (feed s x (carried s x)) True) ->
  forall s, (s <= Z.to_nat n)%nat ->
  pair carries (carried_tangents s x dx) (come_back (Z.to_nat n - s) x seed)
  + sumN s (fun r =>
      pair ys (fun k => push step (feed r x (carried r x)) (feed r dx (carried_tangents r x dx)) (m + k)%nat)
              (fun k i => seed (m + k)%nat (Z.of_nat r :: i)))
  = pair carries (fun k => dx (c + k)%nat) (come_back (Z.to_nat n) x seed)
    + sumN s (fun r => pair consts dx (back_at r x seed)
      + pair rows (fun k i => dx (c + m + k)%nat (Z.of_nat r :: i)) (fun k => back_at r x seed (c + m + k)%nat)).
Proof.
  intros x dx seed D; induction s as [|s IH]; intro H; cbn [sumN].
  - rewrite Nat.sub_0_r; reflexivity.
  - specialize (IH ltac:(lia)).
    assert (O := one_step s x dx seed (come_back (Z.to_nat n - S s) x seed) (D s ltac:(lia))).
    fold (back_at s x seed) in O.
    replace (pair carries (carried_tangents s x dx) (come_back (Z.to_nat n - s) x seed))
      with (pair carries (carried_tangents s x dx) (fun k => back_at s x seed (c + k)%nat)) in IH.
    + lra.
    + apply pair_ext; intros k r E; f_equal; symmetry; apply come_back_step; lia.
Qed.

Lemma loop_gives_back : adjoint_law loop.
Proof.
  intros x dx seed D'; assert (D := asked_of_steps x D'); assert (T := steps x dx seed D (Z.to_nat n) (le_n _)).
  rewrite Nat.sub_diag in T; cbn [come_back] in T.
  cbn [gives takes push pull loop]; rewrite pair_app; fold m.
  rewrite (pair_app consts (carries ++ map (cons n) rows)); fold c; rewrite (pair_app carries (map (cons n) rows)); fold m.
  rewrite !pair_stacked.
  etransitivity; [|etransitivity; [exact T|]].
  - f_equal.
    + apply pair_ext; intros k r E; unfold collect; assert (k < m)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec k m); [reflexivity|lia].
    + apply sumN_ext; intros s Hs; apply pair_ext; intros k r E; f_equal; unfold collect.
      destruct (Nat.ltb_spec (m + k) m); [lia|]; rewrite Nat2Z.id; reflexivity.
  - rewrite sumN_plus, <- (pair_sum consts (Z.to_nat n) dx (fun s => back_at s x seed)).
    assert (P : forall a b d a' b' d' : R, a = a' -> b = b' -> d = d' -> b + (a + d) = a' + (b' + d')) by (intros; lra).
    apply P.
    + apply pair_ext; intros k r E; f_equal; assert (k < c)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec k c); [reflexivity|lia].
    + apply pair_ext; intros k r E; f_equal; assert (k < m)%nat by (apply nth_error_Some; rewrite E; discriminate).
      destruct (Nat.ltb_spec (c + k) c); [lia|]; destruct (Nat.ltb_spec (c + k) (c + m)); [|lia].
      replace (c + k - c)%nat with k by lia; reflexivity.
    + apply sumN_ext; intros s Hs; apply pair_ext; intros k r E; f_equal.
      * rewrite Nat.add_assoc; reflexivity.
      * destruct (Nat.ltb_spec (c + (m + k)) c); [lia|]; destruct (Nat.ltb_spec (c + (m + k)) (c + m)); [lia|].
        rewrite Nat2Z.id, Nat.add_assoc; reflexivity.
Qed.

Theorem loop_is_lawful : is_lawful loop.
Proof. split; [exact loop_gives_back | exact loop_moves]. Qed.

End Loop.
