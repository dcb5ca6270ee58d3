(** What signs discharge: hypotheses of nodes that follow from the signs of what they read.

    A claim about a node says which signs it takes of its operands and which it gives to its outputs, and whether its
    hypotheses are left to ask. Claims are data that nobody has to trust: each is proved of its node, and that the signs
    which a node takes are those that other nodes give is computed. *)

From Coq Require Import Reals Lra Lia ZArith Arith Bool List.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Library Graph.
Open Scope R_scope.

Inductive sign := Any | Positive | NotNegative | NotZero | Negative | NotPositive.

Definition says (g : sign) (v : R) : Prop :=
  match g with
  | Any => True
  | Positive => 0 < v
  | NotNegative => 0 <= v
  | NotZero => v <> 0
  | Negative => v < 0
  | NotPositive => v <= 0
  end.

Definition implies (g h : sign) : bool :=
  match g, h with
  | _, Any | Positive, Positive | Positive, NotNegative | Positive, NotZero | NotNegative, NotNegative
  | NotZero, NotZero | Negative, Negative | Negative, NotPositive | Negative, NotZero | NotPositive, NotPositive => true
  | _, _ => false
  end.

Lemma implied : forall g h v, implies g h = true -> says g v -> says h v.
Proof. intros [] [] v H; simpl; try discriminate H; lra. Qed.

Record claim := { knows : list sign; tells : list sign; asks : bool }.

(** Of a node of which nothing is said. *)
Definition quiet : claim := {| knows := []; tells := []; asks := true |}.

Definition have_signs (gs : list sign) (ss : list shape) (x : slots) : Prop :=
  forall k s i, nth_error ss k = Some s -> inside s i -> says (nth k gs Any) (x k i).

Definition told (n : node) (c : claim) : Prop :=
  forall x, have_signs (knows c) (takes (does n)) x ->
    (asks c = false -> asked (domain (does n)) x True) /\
    (asked (domain (does n)) x True -> have_signs (tells c) (gives (does n)) (run (does n) x)).

(** What is left to ask of the values that the nodes read. *)
Fixpoint left_to_ask (from : nat) (nodes : list node) (claims : list claim) (x : slots) : Prop :=
  match nodes, claims with
  | n :: rest, c :: others =>
      let later := left_to_ask (next from n) rest others (ran from n x) in
      if asks c then asked (domain (does n)) (read n x) later else later
  | _, _ => True
  end.

(** * Signs of slots *)

Fixpoint padded (n : nat) (gs : list sign) : list sign :=
  match n, gs with
  | O, _ => []
  | S m, [] => Any :: padded m []
  | S m, g :: rest => g :: padded m rest
  end.

Fixpoint all_imply (gs hs : list sign) : bool :=
  match gs, hs with
  | _, [] => true
  | g :: gs', h :: hs' => implies g h && all_imply gs' hs'
  | [], _ => false
  end.

(** The signs that each node takes are those of the slots that it reads. *)
Fixpoint fit (gs : list sign) (nodes : list node) (claims : list claim) : bool :=
  match nodes, claims with
  | [], [] => true
  | n :: rest, c :: others =>
      all_imply (map (fun p => nth p gs Any) (places n)) (knows c)
      && fit (gs ++ padded (length (gives (does n))) (tells c)) rest others
  | _, _ => false
  end.

Lemma padded_length : forall n gs, length (padded n gs) = n.
Proof. induction n as [|n IH]; intros [|g gs]; simpl; rewrite ?IH; reflexivity. Qed.

Lemma padded_nth : forall n gs k, (k < n)%nat -> nth k (padded n gs) Any = nth k gs Any.
Proof.
  induction n as [|n IH]; intros gs k H; [lia|].
  destruct gs as [|g gs], k as [|k]; simpl; try reflexivity; rewrite IH by lia; destruct k; reflexivity.
Qed.

Lemma all_imply_nth : forall hs gs k v, all_imply gs hs = true -> says (nth k gs Any) v -> says (nth k hs Any) v.
Proof.
  induction hs as [|h hs IH]; intros [|g gs] k v H S; try discriminate; try (destruct k; exact I).
  apply andb_true_iff in H; destruct H as [H1 H2]; destruct k as [|k]; simpl in *.
  - apply (implied g); assumption.
  - apply (IH gs); assumption.
Qed.

Lemma shape_read : forall (ss : list shape) ps ts k s, map (nth_error ss) ps = map Some ts -> nth_error ts k = Some s ->
  nth_error ss (nth k ps O) = Some s.
Proof.
  intros ss ps; induction ps as [|p ps IH]; intros [|t ts] k s E K; try discriminate; destruct k as [|k]; try discriminate.
  - injection E as E1 _; injection K as <-; exact E1.
  - injection E as _ E2; exact (IH ts k s E2 K).
Qed.

Lemma nth_of_places : forall (gs : list sign) ps k, (k < length ps)%nat ->
  nth k (map (fun p => nth p gs Any) ps) Any = nth (nth k ps O) gs Any.
Proof. intros gs ps; induction ps as [|p ps IH]; intros [|k] H; simpl in *; try lia; [reflexivity|apply IH; lia]. Qed.

Theorem left_is_all : forall nodes claims ss gs x,
  wired ss nodes -> fit gs nodes claims = true -> length gs = length ss -> List.Forall2 told nodes claims ->
  have_signs gs ss x -> left_to_ask (length ss) nodes claims x -> in_domain (length ss) nodes x.
Proof.
  induction nodes as [|n nodes IH]; intros claims ss gs x W F L T H A; [exact I|].
  destruct claims as [|c claims]; [discriminate|]; inversion T as [|? ? ? ? T1 T2]; subst.
  destruct W as [W1 W2]; apply andb_true_iff in F; destruct F as [F1 F2].
  assert (K : have_signs (knows c) (takes (does n)) (read n x)).
  { intros k s i E J; unfold read; apply (all_imply_nth _ _ k _ F1).
    assert (k < length (places n))%nat.
    { assert (k < length (takes (does n)))%nat by (apply nth_error_Some; rewrite E; discriminate).
      rewrite <- (map_length Some (takes (does n))), <- W1, map_length in H0; exact H0. }
    rewrite nth_of_places by assumption; apply (H _ s); [apply (shape_read ss _ _ k s W1 E) | exact J]. }
  destruct (T1 _ K) as [D O].
  assert (B : asked (domain (does n)) (read n x) True /\ left_to_ask (next (length ss) n) nodes claims (ran (length ss) n x)).
  { cbn [left_to_ask] in A; destruct (asks c); [apply asked_both; exact A | split; [apply D; reflexivity | exact A]]. }
  destruct B as [B1 B2]; specialize (O B1); cbn [in_domain].
  apply asked_and; [exact B1|].
  replace (next (length ss) n) with (length (ss ++ gives (does n))) in * by (rewrite app_length; reflexivity).
  apply (IH claims _ (gs ++ padded (length (gives (does n))) (tells c))); try assumption.
  - rewrite !app_length, padded_length, L; reflexivity.
  - intros k s i E J; unfold ran, write.
    destruct (Nat.ltb_spec k (length ss)) as [M|M].
    + rewrite nth_error_app1 in E by exact M; rewrite app_nth1 by lia; apply (H k s); assumption.
    + rewrite nth_error_app2 in E by exact M; rewrite app_nth2, L by lia; rewrite E.
      assert (k - length ss < length (gives (does n)))%nat by (apply nth_error_Some; rewrite E; discriminate).
      rewrite padded_nth by assumption; unfold within; rewrite (inside_decided s i J); apply (O _ s); assumption.
Qed.

Lemma quiet_told : forall n, told n quiet.
Proof. intros n x _; split; [discriminate | intros _ k s i _ _; destruct k; exact I]. Qed.

(** Whether nothing is left. *)
Fixpoint nothing_left (nodes : list node) (claims : list claim) : bool :=
  match nodes, claims with
  | n :: rest, c :: others =>
      (negb (asks c) || match domain (does n) with [] => true | _ => false end) && nothing_left rest others
  | _, _ => true
  end.

Lemma nothing_asked : forall nodes claims from x, nothing_left nodes claims = true -> left_to_ask from nodes claims x.
Proof.
  induction nodes as [|n nodes IH]; intros [|c claims] from x H; try exact I; cbn [left_to_ask nothing_left] in *.
  apply andb_true_iff in H; destruct H as [H1 H2]; destruct (asks c); [|apply IH; exact H2].
  destruct (domain (does n)); [apply IH; exact H2 | discriminate H1].
Qed.

Lemma nothing_said : forall n ss x, have_signs (repeat Any n) ss x.
Proof. intros n ss x k s i _ _; rewrite nth_repeat; exact I. Qed.

(** * Proofs of printed claims *)

Lemma signs_at_0 : forall gs ss (x : slots) k, have_signs gs ss x -> nth_error ss k = Some [] -> says (nth k gs Any) (x k []).
Proof. intros gs ss x k H E; apply (H k []); [exact E | exact I]. Qed.

Lemma signs_at_1 : forall gs ss (x : slots) k n, have_signs gs ss x -> nth_error ss k = Some [n] ->
  forall i, (0 <= i < n)%Z -> says (nth k gs Any) (x k [i]).
Proof. intros gs ss x k n H E i I1; apply (H k [n]); [exact E | repeat split; lia]. Qed.

Lemma signs_at_2 : forall gs ss (x : slots) k n m, have_signs gs ss x -> nth_error ss k = Some [n; m] ->
  forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z -> says (nth k gs Any) (x k [i; j]).
Proof. intros gs ss x k n m H E i j I1 I2; apply (H k [n; m]); [exact E | repeat split; lia]. Qed.

Lemma signs_at_3 : forall gs ss (x : slots) k n m l, have_signs gs ss x -> nth_error ss k = Some [n; m; l] ->
  forall i j p, (0 <= i < n)%Z -> (0 <= j < m)%Z -> (0 <= p < l)%Z -> says (nth k gs Any) (x k [i; j; p]).
Proof. intros gs ss x k n m l H E i j p I1 I2 I3; apply (H k [n; m; l]); [exact E | repeat split; lia]. Qed.

Lemma signs_at_4 : forall gs ss (x : slots) k n m l q, have_signs gs ss x -> nth_error ss k = Some [n; m; l; q] ->
  forall i j p r, (0 <= i < n)%Z -> (0 <= j < m)%Z -> (0 <= p < l)%Z -> (0 <= r < q)%Z -> says (nth k gs Any) (x k [i; j; p; r]).
Proof. intros gs ss x k n m l q H E i j p r I1 I2 I3 I4; apply (H k [n; m; l; q]); [exact E | repeat split; lia]. Qed.

(** The sign of the operand [k], at its indices. *)
Ltac sign_known H k :=
  let N := fresh "known" in
  first [ pose proof (signs_at_0 _ _ _ k H eq_refl) as N | pose proof (signs_at_1 _ _ _ k _ H eq_refl) as N
        | pose proof (signs_at_2 _ _ _ k _ _ H eq_refl) as N | pose proof (signs_at_3 _ _ _ k _ _ _ H eq_refl) as N
        | pose proof (signs_at_4 _ _ _ k _ _ _ _ H eq_refl) as N ];
  cbn [nth knows says] in N; by_slots; cbv beta in N;
  lazymatch type of N with True => clear N | forall _ : Z, _ -> True => clear N | _ => idtac end.

Ltac signs_known H k :=
  lazymatch k with
  | O => idtac
  | S ?l => sign_known H l; signs_known H l
  end.

Ltac known_sign := match goal with K : _ |- _ => apply K; lia end.

Ltac sign_holds :=
  cbv beta;
  first
    [ known_sign
    | apply Rlt_le; known_sign
    | apply Rgt_not_eq; known_sign
    | lra
    | lazymatch goal with
      | |- 0 <= sum_lt _ _ => apply sum_nonneg; intros; sign_holds
      | |- 0 < sum_lt _ _ => apply sum_pos; [lia | intros; sign_holds]
      | |- 0 < sqrt _ => apply sqrt_lt_R0; sign_holds
      | |- 0 <= sqrt _ => apply sqrt_pos
      | |- 0 < exp _ => apply exp_pos
      | |- 0 < _ / _ => apply Rdiv_lt_0_compat; sign_holds
      | |- 0 <= _ / _ => apply Rmult_le_pos; [sign_holds | apply Rlt_le, Rinv_0_lt_compat; sign_holds]
      | |- 0 < _ * _ => apply Rmult_lt_0_compat; sign_holds
      | |- 0 <= ?a * ?a => apply Rle_0_sqr
      | |- 0 <= _ * _ => apply Rmult_le_pos; sign_holds
      | |- 0 <= _ ^ 2 => apply pow2_ge_0
      | |- 0 < _ + _ => first [apply Rplus_lt_0_compat; sign_holds | apply Rplus_lt_le_0_compat; sign_holds | apply Rplus_le_lt_0_compat; sign_holds]
      | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; sign_holds
      | |- 0 <= if _ then _ else _ => split_cases; sign_holds
      | |- 0 < if _ then _ else _ => split_cases; sign_holds
      end
    | hypotheses; first [lra | side | nra] ].

(** [count] operands; [made] unfolds the operation, [known] its forward. *)
Ltac claim_holds count made known :=
  let x := fresh "x" in let K := fresh "K" in
  intros x K; made; cbn [does takes gives domain run knows tells asks] in *; signs_known K count; clear K; split;
  [ intros; try discriminate; cbn [asked]; by_slots; cbv beta; repeat (split; [intros; sign_holds | ]); exact I
  | let E := fresh "E" in let J := fresh "J" in
    cbn [asked]; intros ? ? ? ? E J; taken_apart; by_slots; cbv beta in *;
    each_output E ltac:(index_of_rank J; cbn [nth says slots_of];
                        first [exact I | (known; by_slots; cbv beta iota zeta; sign_holds)]) ].
