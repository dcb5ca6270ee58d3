(** The graph theorem: reverse accumulation over a list of nodes, each with its own certificate, gives the adjoint of
    the derivative of the whole.

    A tensor is a function of a list of indices, and has a shape. A slot holds a tensor: the first slots are the inputs,
    and each node fills the next ones from those before it. What a node does is an operation, which knows nothing of
    slots; which slots it reads is said beside it. What does not move (integers, masks, constants) stands in no slot:
    an operation is made of it. *)

From Coq Require Import Reals Lra Lia ZArith Arith Bool List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves.
Export ListNotations.
Global Open Scope list_scope.
Open Scope R_scope.

(** * Tensors of any rank *)

Definition tensor := list Z -> R.
Definition shape := list Z.

Definition zero : tensor := fun _ => 0.

Fixpoint inside (s : shape) (i : list Z) : Prop :=
  match s, i with
  | [], [] => True
  | n :: s', k :: i' => (0 <= k < n)%Z /\ inside s' i'
  | _, _ => False
  end.

Fixpoint is_inside (s : shape) (i : list Z) : bool :=
  match s, i with
  | [], [] => true
  | n :: s', k :: i' => (0 <=? k)%Z && (k <? n)%Z && is_inside s' i'
  | _, _ => false
  end.

(** The tensor where it is inside its shape, and 0 elsewhere: no more is said of it there. *)
Definition within (s : shape) (u : tensor) : tensor := fun i => if is_inside s i then u i else 0.

(** The sum over all indices: nested sums, one an axis. *)
Fixpoint sum_over (s : shape) (f : tensor) : R :=
  match s with
  | [] => f []
  | n :: s' => sum_lt n (fun k => sum_over s' (fun i => f (k :: i)))
  end.

Definition dot (s : shape) (u v : tensor) : R := sum_over s (fun i => u i * v i).

(** A tensor of this rank as a function of its indices, and a function of indices as a tensor. *)
Definition at0 (u : tensor) : R := u [].
Definition at1 (u : tensor) : Z -> R := fun i => u [i].
Definition at2 (u : tensor) : Z -> Z -> R := fun i j => u [i; j].
Definition at3 (u : tensor) : Z -> Z -> Z -> R := fun i j k => u [i; j; k].
Definition at4 (u : tensor) : Z -> Z -> Z -> Z -> R := fun i j k l => u [i; j; k; l].
Definition at5 (u : tensor) : Z -> Z -> Z -> Z -> Z -> R := fun i j k l m => u [i; j; k; l; m].
Definition of0 (f : R) : tensor := fun _ => f.
Definition of1 (f : Z -> R) : tensor := fun i => match i with [i] => f i | _ => 0 end.
Definition of2 (f : Z -> Z -> R) : tensor := fun i => match i with [i; j] => f i j | _ => 0 end.
Definition of3 (f : Z -> Z -> Z -> R) : tensor := fun i => match i with [i; j; k] => f i j k | _ => 0 end.
Definition of4 (f : Z -> Z -> Z -> Z -> R) : tensor := fun i => match i with [i; j; k; l] => f i j k l | _ => 0 end.
Definition of5 (f : Z -> Z -> Z -> Z -> Z -> R) : tensor :=
  fun i => match i with [i; j; k; l; m] => f i j k l m | _ => 0 end.

(** * Operations and nodes *)

Definition slots := nat -> tensor.

Definition slots_of (l : list tensor) : slots := fun k => nth k l zero.

(** What an operation computes of its operands, how that moves with them, and what it gives back to each for the seeds;
    what its certificate asks of the operands, if anything. *)
Record operation := {
  takes : list shape;
  gives : list shape;
  run : slots -> slots;
  push : slots -> slots -> slots;
  pull : slots -> slots -> slots;
  domain : list (slots -> Prop)
}.

Record node := { does : operation; reads : list N }.

Fixpoint asked (hypotheses : list (slots -> Prop)) (x : slots) (rest : Prop) : Prop :=
  match hypotheses with
  | [] => rest
  | h :: others => h x /\ asked others x rest
  end.

(** The bilinear form of several tensors. *)
Fixpoint pair (ss : list shape) (u v : slots) : R :=
  match ss with
  | [] => 0
  | s :: rest => dot s (u O) (v O) + pair rest (fun k => u (S k)) (fun k => v (S k))
  end.

(** The certificates of an operation: what its obligations say. The derivative is that along any curve. *)
Definition adjoint_law (o : operation) : Prop :=
  forall x dx seed, asked (domain o) x True -> pair (gives o) (push o x dx) seed = pair (takes o) dx (pull o x seed).

Definition derivative_law (o : operation) : Prop :=
  forall (curve : R -> slots) (x dx : slots), asked (domain o) x True ->
    (forall k i, dual (fun t => curve t k i) (x k i) (dx k i)) ->
    forall k s i, nth_error (gives o) k = Some s -> inside s i ->
      is_derive (fun t => run o (curve t) k i) 0 (push o x dx k i).

Definition lawful (n : node) : Prop := adjoint_law (does n) /\ derivative_law (does n).

(** * The passes over a list of nodes, of which the first fills the slot [from] *)

Definition places (n : node) : list nat := map N.to_nat (reads n).

Definition read (n : node) (x : slots) : slots := fun k => x (nth k (places n) O).

Definition write (from : nat) (ss : list shape) (v x : slots) : slots := fun j =>
  if (j <? from)%nat then x j
  else match nth_error ss (j - from) with Some s => within s (v (j - from)%nat) | None => zero end.

Definition next (from : nat) (n : node) : nat := (from + length (gives (does n)))%nat.

Definition ran (from : nat) (n : node) (x : slots) : slots :=
  write from (gives (does n)) (run (does n) (read n x)) x.

Definition pushed (from : nat) (n : node) (x dx : slots) : slots :=
  write from (gives (does n)) (push (does n) (read n x) (read n dx)) dx.

Fixpoint values (from : nat) (nodes : list node) (x : slots) : slots :=
  match nodes with
  | [] => x
  | n :: rest => values (next from n) rest (ran from n x)
  end.

Fixpoint tangents (from : nat) (nodes : list node) (x dx : slots) : slots :=
  match nodes with
  | [] => dx
  | n :: rest => tangents (next from n) rest (ran from n x) (pushed from n x dx)
  end.

(** What each slot gets of what is given back to the operands. *)
Fixpoint scatter (ks : list nat) (v : slots) : slots := fun j i =>
  match ks with
  | [] => 0
  | k :: rest => (if (j =? k)%nat then v O i else 0) + scatter rest (fun l => v (S l)) j i
  end.

(** Reverse accumulation: the last node gives back what its slots have gathered, then the one before it. *)
Fixpoint sweep (from : nat) (nodes : list node) (x gathered : slots) : slots :=
  match nodes with
  | [] => gathered
  | n :: rest =>
      let after := sweep (next from n) rest (ran from n x) gathered in
      fun j i => after j i
        + scatter (places n) (pull (does n) (read n x) (fun k => after (from + k)%nat)) j i
  end.

(** What the certificates of the nodes ask, of the values that the nodes read. *)
Fixpoint in_domain (from : nat) (nodes : list node) (x : slots) : Prop :=
  match nodes with
  | [] => True
  | n :: rest => asked (domain (does n)) (read n x) (in_domain (next from n) rest (ran from n x))
  end.

(** Each node reads slots before its own, which have the shapes that its operation takes. *)
Fixpoint wired (ss : list shape) (nodes : list node) : Prop :=
  match nodes with
  | [] => True
  | n :: rest => map (nth_error ss) (places n) = map Some (takes (does n)) /\ wired (ss ++ gives (does n)) rest
  end.

Fixpoint shapes_after (ss : list shape) (nodes : list node) : list shape :=
  match nodes with
  | [] => ss
  | n :: rest => shapes_after (ss ++ gives (does n)) rest
  end.

(** * Sums over shapes *)

Lemma sum_over_ext : forall s f g, (forall i, inside s i -> f i = g i) -> sum_over s f = sum_over s g.
Proof.
  induction s as [|n s IH]; intros f g H; simpl; [apply H; exact I|].
  apply sum_ext; intros k Hk; apply IH; intros i Hi; apply H; split; assumption.
Qed.

Lemma sum_over_plus : forall s f g, sum_over s (fun i => f i + g i) = sum_over s f + sum_over s g.
Proof.
  induction s as [|n s IH]; intros f g; simpl; [reflexivity|].
  rewrite <- sum_plus; apply sum_ext; intros; apply (IH (fun i0 => f (i :: i0))).
Qed.

Lemma sum_over_zero : forall s, sum_over s (fun _ => 0) = 0.
Proof. induction s as [|n s IH]; simpl; [reflexivity|]; apply sum_all_zero; intros; exact IH. Qed.

Lemma inside_decided : forall s i, inside s i -> is_inside s i = true.
Proof.
  induction s as [|n s IH]; intros [|k i]; simpl; try contradiction; [reflexivity|].
  intros [H1 H2]; rewrite (IH i H2), andb_true_r; apply andb_true_iff; split; [apply Z.leb_le|apply Z.ltb_lt]; lia.
Qed.

Lemma decided_inside : forall s i, is_inside s i = true -> inside s i.
Proof.
  induction s as [|n s IH]; intros [|k i]; simpl; try discriminate; [constructor|].
  intro H; apply andb_true_iff in H; destruct H as [H1 H2]; apply andb_true_iff in H1; destruct H1 as [H3 H4].
  apply Z.leb_le in H3; apply Z.ltb_lt in H4; split; [lia|apply IH; exact H2].
Qed.

Lemma dot_within : forall s u v, dot s (within s u) v = dot s u v.
Proof. intros; apply sum_over_ext; intros i H; unfold within; rewrite (inside_decided s i H); reflexivity. Qed.

Lemma dot_plus : forall s u v w, dot s u (fun i => v i + w i) = dot s u v + dot s u w.
Proof. intros; unfold dot; rewrite <- sum_over_plus; apply sum_over_ext; intros; ring. Qed.

Lemma dot_zero : forall s u, dot s u (fun _ => 0) = 0.
Proof. intros; unfold dot; rewrite (sum_over_ext s _ (fun _ => 0)) by (intros; ring); apply sum_over_zero. Qed.

(** * Bilinear forms of slots *)

Lemma pair_plus : forall ss u v w, pair ss u (fun j i => v j i + w j i) = pair ss u v + pair ss u w.
Proof.
  induction ss as [|s ss IH]; intros u v w; simpl; [ring|].
  rewrite dot_plus, (IH (fun k => u (S k)) (fun k => v (S k)) (fun k => w (S k))); cbv beta; ring.
Qed.

Lemma pair_zero : forall ss u, pair ss u (fun _ _ => 0) = 0.
Proof. induction ss as [|s ss IH]; intro u; simpl; [reflexivity|]; rewrite dot_zero, IH; ring. Qed.

Lemma pair_app : forall ss ts u v,
  pair (ss ++ ts) u v = pair ss u v + pair ts (fun k => u (length ss + k)%nat) (fun k => v (length ss + k)%nat).
Proof.
  induction ss as [|s ss IH]; intros ts u v; simpl; [symmetry; apply Rplus_0_l|].
  rewrite (IH ts (fun k => u (S k)) (fun k => v (S k))); cbv beta; ring.
Qed.

Lemma pair_ext : forall ss u v u' v',
  (forall k s, nth_error ss k = Some s -> dot s (u k) (v k) = dot s (u' k) (v' k)) -> pair ss u v = pair ss u' v'.
Proof.
  induction ss as [|s ss IH]; intros u v u' v' H; simpl; [reflexivity|].
  f_equal; [apply (H O); reflexivity|apply IH; intros k s' E; apply (H (S k)); exact E].
Qed.

Lemma pair_written : forall ss ts v x g,
  pair (ss ++ ts) (write (length ss) ts v x) g = pair ss x g + pair ts v (fun k => g (length ss + k)%nat).
Proof.
  intros; rewrite pair_app; f_equal; apply pair_ext; intros k s E; unfold write.
  - assert (k < length ss)%nat by (apply nth_error_Some; rewrite E; discriminate).
    destruct (Nat.ltb_spec k (length ss)); [reflexivity|lia].
  - destruct (Nat.ltb_spec (length ss + k) (length ss)); [lia|].
    replace (length ss + k - length ss)%nat with k by lia; rewrite E; apply dot_within.
Qed.

(** One slot of all. *)
Lemma pair_single : forall ss k s u w, nth_error ss k = Some s ->
  pair ss u (fun j i => if (j =? k)%nat then w i else 0) = dot s (u k) w.
Proof.
  induction ss as [|r ss IH]; intros [|k] s u w E; simpl in *; try discriminate.
  - injection E as <-; rewrite (pair_zero ss (fun k => u (S k))); apply Rplus_0_r.
  - rewrite dot_zero, (IH k s (fun j => u (S j)) w E); apply Rplus_0_l.
Qed.

Lemma pair_scatter : forall ks ts ss u v, map (nth_error ss) ks = map Some ts ->
  pair ss u (scatter ks v) = pair ts (fun l => u (nth l ks O)) v.
Proof.
  induction ks as [|k ks IH]; intros [|s ts] ss u v E; try discriminate; simpl.
  - apply pair_zero.
  - injection E as E1 E2.
    rewrite (pair_plus ss u (fun j i => if (j =? k)%nat then v O i else 0)), (pair_single ss k s) by exact E1.
    rewrite (IH ts ss u (fun l => v (S l)) E2); reflexivity.
Qed.

Lemma asked_both : forall hs x rest, asked hs x rest -> asked hs x True /\ rest.
Proof.
  induction hs as [|h hs IH]; intros x rest H; [split; [exact I|exact H]|].
  destruct H as [H1 H2]; destruct (IH x rest H2) as [H3 H4]; repeat split; assumption.
Qed.

Lemma asked_and : forall hs x (rest : Prop), asked hs x True -> rest -> asked hs x rest.
Proof.
  induction hs as [|h hs IH]; intros x rest H R; [exact R|].
  destruct H as [H1 H2]; split; [exact H1 | apply IH; assumption].
Qed.

(** * The theorem *)

(** The adjoint law of the whole, from that of each node. *)
Theorem sweep_is_adjoint : forall nodes ss x dx gathered,
  wired ss nodes -> List.Forall lawful nodes -> in_domain (length ss) nodes x ->
  pair (shapes_after ss nodes) (tangents (length ss) nodes x dx) gathered
  = pair ss dx (sweep (length ss) nodes x gathered).
Proof.
  induction nodes as [|n nodes IH]; intros ss x dx gathered W C D; [reflexivity|].
  destruct W as [W1 W2]; destruct (asked_both _ _ _ D) as [D1 D2]; inversion C as [|n' nodes' [A _] C2]; subst.
  cbn [shapes_after tangents sweep].
  replace (next (length ss) n) with (length (ss ++ gives (does n))) in * by (rewrite app_length; reflexivity).
  rewrite IH by assumption; unfold pushed; rewrite pair_written, (A _ _ _ D1).
  rewrite (pair_plus ss dx (sweep (length (ss ++ gives (does n))) nodes (ran (length ss) n x) gathered)); f_equal.
  rewrite (pair_scatter (places n) (takes (does n))) by exact W1; reflexivity.
Qed.

(** Every slot moves as its tangent says, from the derivative law of each node. *)
Theorem values_move : forall nodes from (curve : R -> slots) x dx,
  List.Forall lawful nodes -> in_domain from nodes x ->
  (forall j i, dual (fun t => curve t j i) (x j i) (dx j i)) ->
  forall j i, dual (fun t => values from nodes (curve t) j i) (values from nodes x j i) (tangents from nodes x dx j i).
Proof.
  induction nodes as [|n nodes IH]; intros from curve x dx C D H; [exact H|].
  destruct (asked_both _ _ _ D) as [D1 D2]; inversion C as [|n' nodes' [_ L] C2]; subst; cbn [values tangents].
  apply (IH (next from n) (fun t => ran from n (curve t))); [exact C2|exact D2|].
  assert (At0 : curve 0 = x).
  { apply functional_extensionality; intro j; apply functional_extensionality; intro i; apply (H j i). }
  intros j i; unfold ran, pushed, write.
  destruct (j <? from)%nat; [apply H|].
  destruct (nth_error (gives (does n)) (j - from)) as [s|] eqn:E; [|apply (dual_const 0)].
  unfold within; destruct (is_inside s i) eqn:K; [|apply (dual_const 0)].
  split; [rewrite At0; reflexivity|].
  apply (L (fun t => read n (curve t)) (read n x) (read n dx)) with (s := s);
    [exact D1 | intros k l; apply H | exact E | apply decided_inside; exact K].
Qed.

(** The inputs along a line. *)
Definition along (x dx : slots) (t : R) : slots := fun j i => x j i + t * dx j i.

Theorem tangents_are_derivatives : forall nodes from (x dx : slots),
  List.Forall lawful nodes -> in_domain from nodes x ->
  forall j i, is_derive (fun t => values from nodes (along x dx t) j i) 0 (tangents from nodes x dx j i).
Proof.
  intros nodes from x dx C D j i.
  apply (values_move nodes from (along x dx) x dx C D); intros k l; apply (dual_line (x k l) (dx k l)).
Qed.

(** The same of the outputs: the slots [outs], of the shapes [ts]. *)
Definition of_slots (outs : list nat) (x : slots) : slots := fun k => x (nth k outs O).

Definition well_formed (ss : list shape) (nodes : list node) (outs : list nat) (ts : list shape) : Prop :=
  wired ss nodes /\ map (nth_error (shapes_after ss nodes)) outs = map Some ts.

Theorem outputs_are_given_back : forall ss nodes outs ts x dx seeds,
  well_formed ss nodes outs ts -> List.Forall lawful nodes -> in_domain (length ss) nodes x ->
  pair ts (of_slots outs (tangents (length ss) nodes x dx)) seeds
  = pair ss dx (sweep (length ss) nodes x (scatter outs seeds)).
Proof.
  intros ss nodes outs ts x dx seeds [W O] C D.
  rewrite <- (sweep_is_adjoint nodes ss x dx) by assumption; symmetry; apply pair_scatter; exact O.
Qed.

(** The gradient of a loss, which is a slot with a single entry: what the sweep leaves in the inputs. *)
Definition seed_of (k : nat) : slots := fun j _ => if (j =? k)%nat then 1 else 0.

Theorem sweep_is_gradient : forall ss nodes out (x dx : slots),
  well_formed ss nodes [out] [[]] -> List.Forall lawful nodes -> in_domain (length ss) nodes x ->
  is_derive (fun t => values (length ss) nodes (along x dx t) out []) 0
            (pair ss dx (sweep (length ss) nodes x (seed_of out))).
Proof.
  intros ss nodes out x dx [W O] C D; injection O as E.
  rewrite <- sweep_is_adjoint by assumption; unfold seed_of.
  rewrite (pair_single _ out [] _ (fun _ => 1) E); unfold dot; simpl; rewrite Rmult_1_r.
  apply tangents_are_derivatives; assumption.
Qed.

(** * Whether a list of nodes is wired, decided *)

Fixpoint same_shape (s t : shape) : bool :=
  match s, t with
  | [], [] => true
  | n :: s', m :: t' => (n =? m)%Z && same_shape s' t'
  | _, _ => false
  end.

Fixpoint same_shapes (ss : list (option shape)) (ts : list shape) : bool :=
  match ss, ts with
  | [], [] => true
  | Some s :: ss', t :: ts' => same_shape s t && same_shapes ss' ts'
  | _, _ => false
  end.

Fixpoint is_wired (ss : list shape) (nodes : list node) : bool :=
  match nodes with
  | [] => true
  | n :: rest => same_shapes (map (nth_error ss) (places n)) (takes (does n)) && is_wired (ss ++ gives (does n)) rest
  end.

Definition is_well_formed (ss : list shape) (nodes : list node) (outs : list nat) (ts : list shape) : bool :=
  is_wired ss nodes && same_shapes (map (nth_error (shapes_after ss nodes)) outs) ts.

Lemma same_shape_eq : forall s t, same_shape s t = true -> s = t.
Proof.
  induction s as [|n s IH]; intros [|m t] H; try discriminate; [reflexivity|].
  apply andb_true_iff in H; destruct H as [H1 H2]; apply Z.eqb_eq in H1; rewrite H1, (IH t H2); reflexivity.
Qed.

Lemma same_shapes_eq : forall ss ts, same_shapes ss ts = true -> ss = map Some ts.
Proof.
  induction ss as [|[s|] ss IH]; intros [|t ts] H; try discriminate; [reflexivity|].
  apply andb_true_iff in H; destruct H as [H1 H2]; simpl; rewrite (same_shape_eq s t H1), (IH ts H2); reflexivity.
Qed.

Lemma decided_wired : forall nodes ss, is_wired ss nodes = true -> wired ss nodes.
Proof.
  induction nodes as [|n nodes IH]; intros ss H; [exact I|].
  apply andb_true_iff in H; destruct H as [H1 H2]; split; [apply same_shapes_eq; exact H1|apply IH; exact H2].
Qed.

Lemma decided_well_formed : forall ss nodes outs ts, is_well_formed ss nodes outs ts = true -> well_formed ss nodes outs ts.
Proof.
  intros ss nodes outs ts H; apply andb_true_iff in H; destruct H as [H1 H2].
  split; [apply decided_wired; exact H1|apply same_shapes_eq; exact H2].
Qed.

(** * Proofs of printed theorems *)

(** Products of sizes by any names are compared as polynomials. *)
Ltac same_sizes := first [reflexivity | lia | ring | nia].

(** [known] unfolds the names of the graph and of its operations. *)
Ltac wiring known :=
  first
    [ apply decided_well_formed; vm_compute; reflexivity
    | known; cbv [well_formed wired shapes_after places does reads takes gives app map nth_error
                  N.to_nat Pos.to_nat Pos.iter_op Init.Nat.add];
      repeat (match goal with |- _ /\ _ => split | |- True => exact I end);
      first [reflexivity | repeat (match goal with |- cons _ _ = cons _ _ => apply f_equal2 | |- Some _ = Some _ => apply f_equal end);
                           same_sizes] ].

Ltac sizes_hold := first [assumption | lia | nia].

Ltac taken_apart :=
  repeat match goal with H : _ /\ _ |- _ => destruct H | H : True |- _ => clear H end.

Ltac by_slots := unfold at0, at1, at2, at3, at4, at5, of0, of1, of2, of3, of4, of5 in *.

(** A law of the printed lemma, from which its hypotheses are taken one after the other. *)
Ltac granted law :=
  lazymatch type of law with
  | ?P -> ?Q =>
      let H := fresh in
      assert (H : P) by (first [assumption | sizes_hold | (intros; by_slots; cbv beta; match goal with M : _ |- _ => solve [apply M] end) | (repeat split; assumption)]);
      let R := constr:(law H) in granted R
  | _ => pose proof law
  end.

Ltac lawful_adjoint law :=
  cbn [asked domain does] in *; taken_apart; granted law;
  cbn [does gives takes push pull pair slots_of nth];
  unfold dot; cbn [sum_over]; by_slots; cbv beta iota;
  rewrite ?Rplus_0_r, <- ?Rplus_assoc; assumption.

Lemma inside_axis : forall n s i, inside (n :: s) i -> exists k i', i = k :: i' /\ (0 <= k < n)%Z /\ inside s i'.
Proof. intros n s [|k i'] H; [destruct H|]; destruct H; exists k, i'; repeat split; lia || assumption. Qed.

Lemma inside_scalar : forall i, inside [] i -> i = [].
Proof. intros [|k i] H; [reflexivity|destruct H]. Qed.

Ltac index_of_rank H :=
  lazymatch type of H with
  | inside (_ :: _) _ => let K := fresh in apply inside_axis in H; destruct H as [? [? [-> [? K]]]]; index_of_rank K
  | inside [] _ => apply inside_scalar in H; subst
  end.

(** The outputs one after the other: [E] says which one [k] is. *)
Ltac each_output E law :=
  cbn [nth_error] in E;
  lazymatch type of E with
  | nth_error (_ :: _) ?k = _ =>
      destruct k as [|k]; [cbn [nth_error] in E; injection E as <-; law | each_output E law]
  | nth_error [] ?k = _ => destruct k; discriminate E
  | None = _ => discriminate E
  end.

Ltac lawful_derivative law :=
  cbn [asked domain does] in *; taken_apart; granted law; taken_apart;
  let E := fresh "E" in
  let K := fresh "K" in
  intros ? ? ? E K; cbn [gives] in E;
  each_output E ltac:(
    index_of_rank K; cbn [run push slots_of nth]; by_slots; cbv beta iota;
    match goal with L : _ |- _ => solve [apply L; assumption] end).
