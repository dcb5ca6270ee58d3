(** What a list of nodes computes: that it is what a program says, entry by entry inside the shapes.

    Operations read their operands inside the shapes alone, which is proved of each; so what the nodes compute is known
    from what they compute of tensors that agree there. *)

From Coq Require Import Reals Lra Lia ZArith Arith Bool List.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Library Graph Signs.
Open Scope R_scope.

Definition agree (ss : list shape) (x y : slots) : Prop :=
  forall k s i, nth_error ss k = Some s -> inside s i -> x k i = y k i.

(** What it gives inside the shapes depends on what it is given inside the shapes, where it may be asked. *)
Definition local (o : operation) : Prop :=
  forall x y, asked (domain o) x True -> agree (takes o) x y -> agree (gives o) (run o x) (run o y).

(** Each node computes what stands in its slots, of what stands in those that it reads. *)
Fixpoint computes (from : nat) (nodes : list node) (all : slots) : Prop :=
  match nodes with
  | [] => True
  | n :: rest =>
      agree (gives (does n)) (run (does n) (read n all)) (fun k => all (from + k)%nat) /\ computes (next from n) rest all
  end.

Lemma agree_read : forall ss n x y, map (nth_error ss) (places n) = map Some (takes (does n)) ->
  agree ss x y -> agree (takes (does n)) (read n x) (read n y).
Proof. intros ss n x y W A k s i E K; unfold read; apply (A _ s); [apply (shape_read ss _ _ k s W E) | exact K]. Qed.

Theorem runs : forall nodes ss x all,
  wired ss nodes -> List.Forall (fun n => local (does n)) nodes -> computes (length ss) nodes all ->
  in_domain (length ss) nodes x -> agree ss x all ->
  agree (shapes_after ss nodes) (values (length ss) nodes x) all.
Proof.
  induction nodes as [|n nodes IH]; intros ss x all W L C D A; [exact A|].
  destruct W as [W1 W2]; destruct C as [C1 C2]; inversion L as [|? ? L1 L2]; subst.
  destruct (asked_both _ _ _ D) as [D1 D2]; cbn [shapes_after values].
  replace (next (length ss) n) with (length (ss ++ gives (does n))) in * by (rewrite app_length; reflexivity).
  apply IH; try assumption; intros k s i E K; unfold ran, write.
  destruct (Nat.ltb_spec k (length ss)) as [M|M].
  - rewrite nth_error_app1 in E by exact M; apply (A k s); assumption.
  - rewrite nth_error_app2 in E by exact M; rewrite E; unfold within; rewrite (inside_decided s i K).
    rewrite (L1 _ _ D1 (agree_read ss n x all W1 A) _ s i E K), (C1 _ s i E K); f_equal; lia.
Qed.

(** * Proofs that operations are local *)

Ltac in_range := first [assumption | lia | solve [index_inside]].

(** What is read of two tensors that agree. *)
Ltac same_entry :=
  match goal with A : agree _ ?x ?y |- ?x ?k ?i = ?y ?k ?i =>
    apply (A k _ i eq_refl); cbn [inside]; repeat (split; [in_range | ]); exact I
  end.

Ltac same_inside :=
  cbv beta;
  lazymatch goal with
  | |- ?a = ?a => reflexivity
  | |- sum_lt ?n _ = sum_lt ?n _ => apply sum_ext; intros; same_inside
  | |- max_lt ?n _ = max_lt ?n _ => apply max_ext; [lia | intros; same_inside]
  | |- (if ?c then _ else _) = (if ?c then _ else _) => let C := fresh "C" in destruct c eqn:C; [same_inside | same_inside]
  | |- (if ?c then _ else _) = (if ?d then _ else _) =>
      let E := fresh in assert (E : c = d) by same_inside; rewrite E; clear E; same_inside
  | |- _ => first
      [ same_entry
      | lazymatch goal with
        | |- ?f ?a ?b = ?f ?c ?d => apply (f_equal2 f); same_inside
        | |- ?f ?a = ?f ?b => apply (f_equal f); same_inside
        end ]
  end.

(** [made] unfolds the operation, [known] its forward. *)
Ltac reads_inside made known :=
  let D := fresh "D" in let E := fresh "E" in let J := fresh "J" in
  intros; made; intros ? ? D ? ? ? ? E J; cbn [takes gives run asked domain] in *; taken_apart;
  each_output E ltac:(index_of_rank J; cbn [nth slots_of]; known; by_slots; cbv beta iota zeta; same_inside).

(** * Proofs that nodes compute what a program says *)

Fixpoint after (from : nat) (nodes : list node) : nat :=
  match nodes with
  | [] => from
  | n :: rest => after (next from n) rest
  end.

Lemma computes_cons : forall from to n rest all,
  agree (gives (does n)) (run (does n) (read n all)) (fun k => all (from + k)%nat) -> next from n = to ->
  computes to rest all -> computes from (n :: rest) all.
Proof. intros from to n rest all A <- C; split; assumption. Qed.

Lemma computes_app : forall a b from all,
  computes from a all -> computes (after from a) b all -> computes from (a ++ b) all.
Proof.
  induction a as [|n a IH]; intros b from all A B; [exact B|].
  destruct A as [A1 A2]; split; [exact A1 | apply IH; assumption].
Qed.

(** What stands in all slots: the inputs, then these. *)
Definition beyond (inputs : nat) (x : slots) (tensors : list tensor) : slots := fun k =>
  if (k <? inputs)%nat then x k else nth (k - inputs) tensors zero.

(** What stands in the slots [outs] is what the program says. *)
Theorem program_is_run : forall ss nodes outs ts x tensors says,
  well_formed ss nodes outs ts -> List.Forall (fun n => local (does n)) nodes ->
  computes (length ss) nodes (beyond (length ss) x tensors) ->
  agree ts (of_slots outs (beyond (length ss) x tensors)) says ->
  in_domain (length ss) nodes x -> agree ts (of_slots outs (values (length ss) nodes x)) says.
Proof.
  intros ss nodes outs ts x tensors says [W O] L C S D k s i E K; rewrite <- (S k s i E K); unfold of_slots.
  apply (runs nodes ss x _ W L C D) with (s := s); [ | apply (shape_read _ outs ts k s O E) | exact K].
  intros j r q B _; unfold beyond; assert (j < length ss)%nat by (apply nth_error_Some; rewrite B; discriminate).
  destruct (Nat.ltb_spec j (length ss)); [reflexivity|lia].
Qed.

(** Numbers that are computed may be written as what they are. *)
Ltac same_numbers :=
  cbv beta;
  lazymatch goal with
  | |- ?a = ?a => reflexivity
  | |- sum_lt _ _ = sum_lt _ _ => apply sum_ext; intros; same_numbers
  | |- (if ?c then _ else _) = (if ?c then _ else _) => destruct c; same_numbers
  | |- _ = (if Rltb ?a ?b then _ else _) =>
      first [rewrite (Rltb_true a b) by lra | rewrite (Rltb_false a b) by lra]; same_numbers
  | |- _ = (if Rleb ?a ?b then _ else _) =>
      first [rewrite (Rleb_true a b) by lra | rewrite (Rleb_false a b) by lra]; same_numbers
  | |- _ => first
      [ solve [lra]
      | lazymatch goal with
        | |- ?f ?a ?b = ?f ?c ?d => apply (f_equal2 f); same_numbers
        | |- ?f ?a = ?f ?b => apply (f_equal f); same_numbers
        end ]
  end.

(** [made] unfolds the operation of a node or what it gives, [seen] what stands in slots, [known] what the node runs and
    what the program says. *)
Ltac entries_same E J made seen known :=
  made; cbn [does gives] in E;
  each_output E ltac:(index_of_rank J; single_indices; seen; known; cbv beta iota zeta; first [reflexivity | same_numbers]).

(** The node at the head of the list; the next one fills the slot [to]. *)
Ltac node_computes to made seen known :=
  apply (computes_cons _ to);
  [ let E := fresh "E" in let J := fresh "J" in intros ? ? ? E J; entries_same E J made seen known | reflexivity | ].

Ltac outputs_same made seen known :=
  let E := fresh "E" in let J := fresh "J" in intros ? ? ? E J; entries_same E J made seen known.
