(** What equations determine, in printed programs: their hypotheses as systems, and the laws that follow. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels
  Defined Matrices.
Open Scope R_scope.

(** Ranges of several indices, one by one. *)
Ltac ranges := repeat match goal with H : (_ <= _ < _)%Z /\ _ |- _ => destruct H end.

(** Printed equations as systems: the unknowns stand on the right of the matrix or on its left, by rows or by columns. *)
Ltac system type k :=
  lazymatch type with
  | forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => @?a i c r l * ?x i c l) = @?y i c r =>
      k b n m (fun i r l => a i 0%Z r l) (over_columns x) (fun i r c => y i c r)
  | forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => ?x i c l * @?a i c r l) = @?y i c r =>
      k b n m (fun i r l => a i 0%Z r l) (over_columns x) (fun i r c => y i c r)
  | forall i, (0 <= i < ?b)%Z -> forall r, (0 <= r < ?n)%Z -> forall c, (0 <= c < ?m)%Z ->
      sum_lt _ (fun l => @?a i r c l * ?x i l c) = @?y i r c =>
      k b n m (fun i r l => a i r 0%Z l) x y
  end.

Ltac by_equation H :=
  let i := fresh in let r := fresh in let c := fresh in
  let Hi := fresh in let Hr := fresh in let Hc := fresh in
  intros i r c Hi Hr Hc;
  first [ exact (H i Hi r Hr c Hc)
        | exact (H i Hi c Hc r Hr)
        | (etransitivity; [| exact (H i Hi c Hc r Hr)]; apply sum_ext; intros; apply Rmult_comm) ].

Ltac as_system H :=
  let P := type of H in
  system P ltac:(fun b n m a x y =>
    let a := eval cbv beta in a in let y := eval cbv beta in y in
    let S := fresh "S" in
    assert (S : solves b n m a x y) by (by_equation H); clear H).

(** The same of arrays that move. *)
Lemma locally_same : forall P Q : R -> Prop, (forall t, P t -> Q t) -> locally 0 P -> locally 0 Q.
Proof. intros P Q H; apply filter_imp; exact H. Qed.

Ltac as_moving_system H :=
  let k := fun b n m a x y =>
    let a := eval cbv beta in a in let y := eval cbv beta in y in
    let S := fresh "S" in let t := fresh in let E := fresh in
    assert (S : locally 0 (fun t => solves b n m (a t) (x t) (y t)));
    [ apply (locally_same _ _) with (2 := H); intros t E; cbv beta in E; by_equation E | clear H; cbv beta in S ] in
  lazymatch type of H with
  | locally 0 (fun t => forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => @?a t i c r l * ?x t i c l) = @?y t i c r) =>
      k b n m (fun t i r l => a t i 0%Z r l) (fun t => over_columns (x t)) (fun t i r c => y t i c r)
  | locally 0 (fun t => forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => ?x t i c l * @?a t i c r l) = @?y t i c r) =>
      k b n m (fun t i r l => a t i 0%Z r l) (fun t => over_columns (x t)) (fun t i r c => y t i c r)
  | locally 0 (fun t => forall i, (0 <= i < ?b)%Z -> forall r, (0 <= r < ?n)%Z -> forall c, (0 <= c < ?m)%Z ->
      sum_lt _ (fun l => @?a t i r c l * ?x t i l c) = @?y t i r c) =>
      k b n m (fun t i r l => a t i r 0%Z l) x y
  end.

Ltac conjuncts :=
  repeat match goal with H : ?P /\ _ |- _ => lazymatch P with (_ <= _)%Z => fail | _ => destruct H end end.

Ltac systems :=
  conjuncts;
  repeat match goal with
  | H : locally 0 _ |- _ => as_moving_system H
  | H : forall i, (0 <= i < _)%Z -> forall r, (0 <= r < _)%Z -> forall c, (0 <= c < _)%Z -> sum_lt _ _ = _ |- _ => as_system H
  end.

(** A matrix has an inverse: by hypothesis, or because it is a triangle. *)
Ltac triangle :=
  split_cases; first [ reflexivity | assumption | (exfalso; lia) | lra | (match goal with H : _ |- _ => apply H; assumption end) ].

Ltac has_inverse :=
  let i := fresh "i" in let Hi := fresh in
  intros i Hi;
  first
    [ match goal with H : forall j, (0 <= j < _)%Z -> invertible _ _ |- _ => exact (H i Hi) end
    | match goal with H : forall j, (0 <= j < _)%Z -> invertible _ _ |- _ => exact (invertible_transposed _ _ (H i Hi)) end
    | (apply upper_invertible; [lia | intros; solve [triangle] | intros; solve [triangle]])
    | (apply lower_invertible; [lia | intros; solve [triangle] | intros; solve [triangle]]) ].

(** Goal [t = ?e]: what a tactic knows of parts of [t], inside its sums as well. *)
Ltac inside leaf :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; inside leaf | reflexivity]
  | |- ?a + ?b = _ => etransitivity; [apply f_equal2; inside leaf | reflexivity]
  | |- 1 - ?b = _ => first [leaf | etransitivity; [apply f_equal; inside leaf | reflexivity]]
  | |- ?a - ?b = _ => etransitivity; [apply f_equal2; inside leaf | reflexivity]
  | |- ?a * ?b = _ => etransitivity; [apply f_equal2; inside leaf | reflexivity]
  | |- ?a / ?b = _ => etransitivity; [apply f_equal2; inside leaf | reflexivity]
  | |- - ?a = _ => etransitivity; [apply f_equal; inside leaf | reflexivity]
  | |- tanh ?a = _ => first [leaf | etransitivity; [apply f_equal; inside leaf | reflexivity]]
  | |- exp ?a = _ => first [leaf | etransitivity; [apply f_equal; inside leaf | reflexivity]]
  | |- (if ?c then ?a else ?b) = _ =>
      first [leaf | etransitivity; [apply (f_equal2 (fun y z => if c then y else z)); inside leaf | reflexivity]]
  | |- _ => first [leaf | reflexivity]
  end.

Ltac inside_both leaf := etransitivity; [inside leaf | symmetry; etransitivity; [inside leaf | symmetry]].

(** Two solutions of one system are one: in the goal the second is replaced by the first. *)
Ltac identify :=
  repeat match goal with
  | S : solves ?b ?n ?m ?a ?x ?y, T : solves ?b ?n ?m ?a ?x' ?y |- _ = _ =>
      tryif constr_eq x x' then fail else
      let E := fresh "E" in
      assert (E := solves_unique b n m a x' x y ltac:(has_inverse) T S); unfold over_columns in E;
      inside_both ltac:(first [apply E; assumption]); cbv beta; clear T E
  end.

Ltac same_terms :=
  unfold over_columns; cbv beta;
  first [ reflexivity
        | ring
        | (f_equal; apply sum_ext; intros; split_cases; first [reflexivity | ring | (exfalso; lia)])
        | real_equation ].

Ltac as_unit S :=
  lazymatch type of S with solves ?b ?n ?n ?a ?x _ =>
    let U := fresh "U" in
    assert (U : solves b n n a x (fun _ r c => if (r =? c)%Z then 1 else 0))
      by (let i := fresh in let r := fresh in let c := fresh in intros i r c ? ? ?;
          rewrite (S i r c) by assumption; split_cases; first [reflexivity | exfalso; lia])
  end.

Ltac moves_as S :=
  lazymatch goal with
  | |- solves ?b ?n ?m ?a ?x ?y =>
      first
        [ match goal with T : solves b n m a ?x' ?y' |- _ =>
            unify x x';
            let i := fresh in let r := fresh in let c := fresh in intros i r c ? ? ?;
            etransitivity; [apply (T i r c); assumption | solve [same_terms]] end
        | (as_unit S;
           match goal with U : solves b n n a ?z (fun _ r c => if (r =? c)%Z then 1 else 0) |- _ =>
             let i := fresh in let r := fresh in let c := fresh in intros i r c ? ? ?;
             etransitivity; [| apply (solves_product b n m a z y U); assumption];
             apply sum_ext; intros; cbv beta; f_equal; unfold over_columns; cbv beta; solve [sums_equal | adjoint] end) ]
  end.

Ltac entries_move := intros; cbv beta; eapply dual_eq; [solve [derive] | reflexivity | reflexivity].

Ltac solutions_move :=
  cbv beta;
  match goal with
  | N : locally 0 (fun t => solves ?b ?n ?m (@?a t) (@?x t) (@?y t)), S : solves ?b ?n ?m ?a0 ?x0 ?y0
    |- is_derive ?f 0 ?d =>
      let go i r c :=
        let p := eval pattern i, r, c in d in
        lazymatch p with ?x' _ _ _ =>
          simple refine (solves_moves b n m a x x0 y _ x' _ a0 y0 _ N S _ _ _ i r c _ _ _);
          [ shelve | shelve | has_inverse | entries_move | entries_move | | assumption | assumption | assumption ];
          cbv beta; moves_as S
        end in
      lazymatch f with
      | fun t => _ t ?i ?u ?v => first [solve [go i u v] | solve [go i v u]]
      end
  end.

Ltac solutions_adjoint :=
  cbv beta;
  first
    [ match goal with S : solves ?b ?n ?m ?a ?x ?y, T : solves ?b ?n ?m ?a' ?w ?s |- _ = _ =>
        refine (eq_trans (solves_adjoint b n m a x y w s S T) _); cbv beta; unfold over_columns; cbv beta;
        identify; solve [adjoint] end
    | (identify; unfold over_columns; cbv beta; solve [adjoint]) ].

Ltac solutions_alike :=
  cbv beta;
  match goal with S : solves ?b ?n ?m ?a ?x ?y, T : solves ?b ?n ?m ?a ?x' ?y |- _ = _ =>
    first [ apply (solves_unique b n m a x x' y ltac:(has_inverse) S T); assumption
          | apply (solves_unique b n m a x' x y ltac:(has_inverse) T S); assumption ] end.

(** A printed theorem about what equations determine. *)
Ltac solutions law :=
  systems;
  lazymatch goal with
  | |- is_derive _ _ _ => solutions_move
  | |- sum_lt _ _ = _ => solutions_adjoint
  | |- _ => solutions_alike
  end.

(** There are solutions, and no others. *)
Ltac solution_exists :=
  let X := fresh "X" in
  lazymatch goal with
  | |- exists x, forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => @?a i c r l * x i c l) = @?y i c r =>
      destruct (solves_exists b n m (fun i r l => a i 0%Z r l) (fun i r c => y i c r) ltac:(has_inverse)) as [? X];
      eexists (over_columns _); intros; apply X; assumption
  | |- exists x, forall i, (0 <= i < ?b)%Z -> forall c, (0 <= c < ?m)%Z -> forall r, (0 <= r < ?n)%Z ->
      sum_lt _ (fun l => x i c l * @?a i c r l) = @?y i c r =>
      destruct (solves_exists b n m (fun i r l => a i 0%Z r l) (fun i r c => y i c r) ltac:(has_inverse)) as [? X];
      eexists (over_columns _); intros; etransitivity; [|apply X; assumption];
      apply sum_ext; intros; apply Rmult_comm
  | |- exists x, forall i, (0 <= i < ?b)%Z -> forall r, (0 <= r < ?n)%Z -> forall c, (0 <= c < ?m)%Z ->
      sum_lt _ (fun l => @?a i r c l * x i l c) = @?y i r c =>
      destruct (solves_exists b n m (fun i r l => a i r 0%Z l) y ltac:(has_inverse)) as [? X];
      eexists; intros; apply X; assumption
  end.

Ltac defined_and_determined :=
  cbv beta;
  lazymatch goal with
  | |- (_ <= _ < _)%Z => defined_everywhere
  | |- _ /\ _ => split; defined_and_determined
  | |- exists x : Z -> Z -> Z -> R, _ => solution_exists
  | |- forall x y : Z -> Z -> Z -> R, _ -> _ -> _ =>
      let X := fresh in let Y := fresh in
      intros ? ? X Y; as_system X; as_system Y; intros; ranges; solutions_alike
  | |- forall x : Z -> Z -> Z -> R, _ -> _ => intros ? ?; defined_and_determined
  | |- _ => defined_everywhere
  end.
