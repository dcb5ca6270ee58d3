(** What loops carry, in printed programs: by induction on the time. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels
  Defined Matrices Systems.
Open Scope R_scope.

Lemma by_time : forall (n : Z) (P : Z -> Prop), P 0%Z -> (forall s, (0 <= s < n)%Z -> P s -> P (s + 1)%Z) ->
  forall s, (0 <= s <= n)%Z -> P s.
Proof.
  intros n P B S s [H0 Hn]; revert Hn; pattern s; apply natlike_ind; [intros _; exact B| |exact H0].
  intros k Hk IH H; change (Z.succ k) with (k + 1)%Z; apply S; [lia|apply IH; lia].
Qed.

Lemma locally_left : forall P Q : R -> Prop, locally 0 (fun t => P t /\ Q t) -> locally 0 P.
Proof. intros P Q; apply filter_imp; intros t [A _]; exact A. Qed.

Lemma locally_right : forall P Q : R -> Prop, locally 0 (fun t => P t /\ Q t) -> locally 0 Q.
Proof. intros P Q; apply filter_imp; intros t [_ A]; exact A. Qed.

Ltac recurrences :=
  repeat match goal with
  | H : locally 0 (fun t => @?P t /\ @?Q t) |- _ =>
      let A := fresh "N" in let B := fresh "N" in
      assert (A := locally_left P Q H); assert (B := locally_right P Q H); clear H; cbv beta in A, B
  end;
  conjuncts.

(** Derivatives by the form of the function, and what [leaf] knows of its parts. *)
Ltac derive_with leaf :=
  cbv beta;
  lazymatch goal with
  | |- dual _ _ _ => first [leaf | dual_law]; derive_with leaf
  | |- steady _ _ => dual_step; derive_with leaf
  | |- _ -> dual _ _ _ => intro; derive_with leaf
  | |- (0 <= _ < _)%Z -> _ => intro; derive_with leaf
  | |- _ -> steady _ _ => intro; derive_with leaf
  | |- forall _ : Z, _ => intro; derive_with leaf
  | |- _ => idtac
  end.

(** What is carried moves as is known, at the time and the entry that are asked for. *)
Ltac in_time := first [assumption | lia | index_law].

Ltac carried_moves :=
  idtac;  (* so that it is a tactic where it is an argument, and not what it finds there *)
  match goal with
  | M : forall i, _ -> dual (fun t => ?f t _ _) _ _ |- dual (fun t => ?f t _ _) _ _ => apply M; in_time
  | M : forall s, _ -> forall i, _ -> dual (fun t => ?f t _ _) _ _ |- dual (fun t => ?f t _ _) _ _ => apply M; in_time
  | M : forall i j, _ -> _ -> dual (fun t => ?f t _ _ _) _ _ |- dual (fun t => ?f t _ _ _) _ _ => apply M; in_time
  | M : forall s, _ -> forall i j, _ -> _ -> dual (fun t => ?f t _ _ _) _ _ |- dual (fun t => ?f t _ _ _) _ _ =>
      apply M; in_time
  end.

(** What a program has put together of the start and of what each step gave is what was carried. *)
Ltac as_carried :=
  idtac;
  match goal with
  | A : forall i, _ -> ?v 0%Z i = _, B : forall s i, _ -> _ -> ?v (s + 1)%Z i = _ |- (if (?s <? 0 + 1)%Z then ?y else _) = _ =>
      let k := open_constr:(_ : Z) in
      let E := fresh "E" in
      assert (E : v 0%Z k = y) by (apply A; eassumption);
      transitivity (v s k);
      [ destruct (Z.ltb_spec s (0 + 1));
        [ replace s with 0%Z by lia; symmetry; exact E
        | replace (v s k) with (v (s - 1 + 1)%Z k) by (f_equal; lia); rewrite (B (s - 1)%Z k) by in_time;
          replace (0 + (s - (0 + 1)) * 1)%Z with (s - 1)%Z by lia; tidy_indices; reflexivity ]
      | reflexivity ]
  end.

Ltac all_as_carried :=
  lazymatch goal with
  | |- context [if (_ <? 0 + 1)%Z then _ else _] => inside_both ltac:(as_carried)
  | |- context [sum_lt _ _] => try (progress inside_both ltac:(as_carried))
  | |- _ => idtac
  end.

Ltac above_0 := first [assumption | lra | apply Rgt_not_eq; assert (0 < 1) by lra; repeat apply Rplus_lt_0_compat; first [assumption | apply exp_pos]].

Ltac by_step E := first [apply E; in_time].

Ltac holds_near N :=
  let t := fresh in let E := fresh in
  eapply dual_local; [refine (locally_same _ _ _ N); intros t E; cbv beta in E; symmetry; by_step E |]; cbv beta.

Ltac moves_by_form :=
  eapply dual_eq; [derive_with carried_moves | | ];
  cbv beta;
  lazymatch goal with
  | |- _ = _ :> R => idtac
  | |- _ => first [solve [above_0] | asked]
  end.

Ltac is_step :=
  match goal with
  | B : forall s i, _ -> _ -> ?v (s + 1)%Z i = _ |- _ = ?v (?s + 1)%Z ?i => rewrite (B s i) by in_time
  | B : forall s i j, _ -> _ -> _ -> ?v (s + 1)%Z i j = _ |- _ = ?v (?s + 1)%Z ?i ?j => rewrite (B s i j) by in_time
  | B : forall i, _ -> ?v 0%Z i = _ |- _ = ?v 0%Z ?i => rewrite (B i) by in_time
  | B : forall i j, _ -> _ -> ?v 0%Z i j = _ |- _ = ?v 0%Z ?i ?j => rewrite (B i j) by in_time
  end.

(** Exponentials as numbers above 0, of which no more is known; then hyperbolic tangents and sums. *)
Ltac hold_functions :=
  repeat match goal with |- context [exp ?e] =>
    let P := fresh "P" in assert (P := exp_pos e); revert P; generalize (exp e); intros ? P end;
  repeat match goal with |- context [tanh ?e] => generalize (tanh e); intro end;
  repeat match goal with |- context [sum_lt ?n ?f] => generalize (sum_lt n f); intro end.

Ltac sums_as_one :=
  repeat match goal with |- context [sum_lt ?n ?f] => match goal with |- context [sum_lt n ?g] =>
    tryif constr_eq f g then fail else replace (sum_lt n g) with (sum_lt n f) by (apply sum_ext; intros; ring) end end.

Ltac step_law :=
  cbv beta; tidy_indices; rewrite ?sum_plus;
  first [ reflexivity
        | solve [ring]
        | (hold_functions; solve [field; repeat split; above_0])
        | (sums_as_one; hold_functions; solve [field; repeat split; above_0]) ].

Ltac same_as_step := is_step; first [step_law | (all_as_carried; step_law)].

(** One carry moves: its value and its tangent are two of those of the JVP. *)
Ltac carry_moves :=
  match goal with
  | N0 : locally 0 (fun t => forall i, _ -> ?f t 0%Z i = _),
    N1 : locally 0 (fun t => forall s i, (0 <= s < ?n)%Z -> (0 <= i < ?m)%Z -> ?f t (s + 1)%Z i = _),
    V : forall i, _ -> ?v 0%Z i = _, D : forall i, _ -> ?d 0%Z i = _ |- _ =>
      let M := fresh "M" in let s := fresh "s" in
      assert (M : forall s, (0 <= s <= n)%Z -> forall i, (0 <= i < m)%Z -> dual (fun t => f t s i) (v s i) (d s i));
      [ refine (by_time n (fun s => forall i, (0 <= i < m)%Z -> dual (fun t => f t s i) (v s i) (d s i)) _ _);
        [ intros; holds_near N0; moves_by_form; solve [same_as_step]
        | intros; holds_near N1; moves_by_form; solve [same_as_step] ]
      | clear N0 N1 ]
  | N0 : locally 0 (fun t => forall i j, _ -> _ -> ?f t 0%Z i j = _),
    N1 : locally 0 (fun t => forall s i j, (0 <= s < ?n)%Z -> (0 <= i < ?m)%Z -> (0 <= j < ?l)%Z -> ?f t (s + 1)%Z i j = _),
    V : forall i j, _ -> _ -> ?v 0%Z i j = _, D : forall i j, _ -> _ -> ?d 0%Z i j = _ |- _ =>
      let M := fresh "M" in let s := fresh "s" in
      assert (M : forall s, (0 <= s <= n)%Z -> forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z ->
                  dual (fun t => f t s i j) (v s i j) (d s i j));
      [ refine (by_time n (fun s => forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z ->
                  dual (fun t => f t s i j) (v s i j) (d s i j)) _ _);
        [ intros; holds_near N0; moves_by_form; solve [same_as_step]
        | intros; holds_near N1; moves_by_form; solve [same_as_step] ]
      | clear N0 N1 ]
  end.

(** Two carries that read each other move together: those of one program, of which one is in the goal. *)
Ltac occurs_in x e := lazymatch e with context [x] => idtac end.
Ltac in_goal x := lazymatch goal with |- context [x] => idtac end.

Ltac starts_as f v d m l N :=
  assert (forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z -> dual (fun t => f t 0%Z i j) (v 0%Z i j) (d 0%Z i j))
    by (intros; holds_near N; moves_by_form; is_step; cbv beta; solve [reflexivity | ring]).

Ltac carries_move :=
  match goal with
  | N0 : locally 0 (fun t => forall i j, _ -> _ -> ?f t 0%Z i j = _),
    N1 : locally 0 (fun t => forall s i j, (0 <= s < ?n)%Z -> (0 <= i < ?m)%Z -> (0 <= j < ?l)%Z -> ?f t (s + 1)%Z i j = _),
    V : forall i j, _ -> _ -> ?v 0%Z i j = _, D : forall i j, _ -> _ -> ?d 0%Z i j = _ |- _ =>
      match goal with
      | DB : forall s i j, _ -> _ -> _ -> d (s + 1)%Z i j = @?r s i j |- _ => occurs_in v r
      end;
      starts_as f v d m l N0;
      match goal with
      | N2 : locally 0 (fun t => forall i j, _ -> _ -> ?g t 0%Z i j = _),
        N3 : locally 0 (fun t => forall s i j, (0 <= s < n)%Z -> (0 <= i < m)%Z -> (0 <= j < l)%Z -> ?g t (s + 1)%Z i j = _),
        V' : forall i j, _ -> _ -> ?w 0%Z i j = _, D' : forall i j, _ -> _ -> ?e 0%Z i j = _ |- _ =>
          tryif constr_eq f g then fail else idtac;
          let T := type of N1 in occurs_in g T;
          first [(in_goal f; in_goal d) | (in_goal g; in_goal e)];
          match goal with
          | DB : forall s i j, _ -> _ -> _ -> d (s + 1)%Z i j = @?r s i j |- _ => occurs_in w r; occurs_in e r
          | EB : forall s i j, _ -> _ -> _ -> e (s + 1)%Z i j = @?r s i j |- _ => occurs_in v r; occurs_in d r
          end;
          starts_as g w e m l N2;
          let M := fresh "M" in
          assert (M : forall s, (0 <= s <= n)%Z ->
            (forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z -> dual (fun t => f t s i j) (v s i j) (d s i j)) /\
            (forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z -> dual (fun t => g t s i j) (w s i j) (e s i j)));
          [ refine (by_time n (fun s =>
              (forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z -> dual (fun t => f t s i j) (v s i j) (d s i j)) /\
              (forall i j, (0 <= i < m)%Z -> (0 <= j < l)%Z -> dual (fun t => g t s i j) (w s i j) (e s i j))) _ _);
            [ split; assumption
            | let B := fresh in let C := fresh in
              intros ? ? [B C]; split; intros; [holds_near N1 | holds_near N3]; moves_by_form; solve [same_as_step] ]
          | clear N0 N1 N2 N3;
            let A := fresh "M" in let B := fresh "M" in
            assert (A := fun s H => proj1 (M s H)); assert (B := fun s H => proj2 (M s H)); clear M; cbv beta in A, B ]
      end
  end.

Ltac loop_moves :=
  recurrences; first [carries_move | repeat carry_moves];
  eapply dual_is_derive; [derive_with carried_moves|]; cbv beta;
  lazymatch goal with
  | |- _ = _ :> R => first [step_law | (all_as_carried; step_law) | real_equation]
  | |- _ => first [solve [above_0] | asked]
  end.

(** * What is carried alike is the same: one array in place of several. *)

Ltac known_alike :=
  idtac;
  match goal with
  | E : forall s, _ -> forall i, _ -> ?w s i = ?v s i |- ?w _ _ = _ => apply E; in_time
  | E : forall i, _ -> ?w ?s i = ?v ?s i |- ?w _ _ = _ => apply E; in_time
  end.

Ltac alike_by_time v w n m A B A' B' :=
  let E := fresh "E" in let s := fresh "s" in let i := fresh "i" in let I := fresh in
  assert (E : forall s, (0 <= s <= n)%Z -> forall i, (0 <= i < m)%Z -> w s i = v s i);
  [ refine (by_time n (fun s => forall i, (0 <= i < m)%Z -> w s i = v s i) _ _);
    [ intros; rewrite A, A' by assumption; reflexivity
    | intros s ? I i ?; rewrite (B s i), (B' s i) by assumption; inside_both ltac:(known_alike); cbv beta; reflexivity ]
  | ].

Ltac carries_alike :=
  repeat match goal with
  | A : forall i, (0 <= i < ?m)%Z -> ?v 0%Z i = _,
    B : forall s i, (0 <= s < ?n)%Z -> (0 <= i < ?m)%Z -> ?v (s + 1)%Z i = _,
    A' : forall i, (0 <= i < ?m)%Z -> ?w 0%Z i = _,
    B' : forall s i, (0 <= s < ?n)%Z -> (0 <= i < ?m)%Z -> ?w (s + 1)%Z i = _ |- _ =>
      tryif constr_eq v w then fail else
      lazymatch goal with
      | E : forall s, _ -> forall i, _ -> _ s i = w s i |- _ => fail
      | E : forall s, _ -> forall i, _ -> w s i = _ s i |- _ => fail
      | _ => alike_by_time v w n m A B A' B'
      end
  end.

Ltac one_of_each := repeat (progress (inside_both ltac:(known_alike); cbv beta)).

Ltac loops_alike := recurrences; carries_alike; one_of_each; reflexivity.

(** * The adjoint: what the JVP carries and what the VJP carries back meet at each time. *)

Lemma sum_telescopes : forall n (F : Z -> R), (0 <= n)%Z -> sum_lt n (fun s => F s - F (s + 1)%Z) = F 0%Z - F n.
Proof.
  intros n F Hn; revert n Hn; apply natlike_ind; [cbn; ring|]; intros k Hk IH.
  change (Z.succ k) with (k + 1)%Z; rewrite sum_next, IH by exact Hk; ring.
Qed.

Lemma carried_back : forall n m (d g : Z -> Z -> R) e, (0 <= n)%Z ->
  (forall i, (0 <= i < m)%Z -> d 0%Z i = e i) -> (forall i, (0 <= i < m)%Z -> g 0%Z i = 0) ->
  sum_lt m (fun i => e i * g n i)
  = sum_lt n (fun s => sum_lt m (fun i => d s i * g (n - 1 - s + 1)%Z i) - sum_lt m (fun i => d (s + 1)%Z i * g (n - 1 - s)%Z i)).
Proof.
  intros n m d g e Hn D G.
  transitivity (sum_lt n (fun s => (fun s => sum_lt m (fun i => d s i * g (n - s)%Z i)) s
                                   - (fun s => sum_lt m (fun i => d s i * g (n - s)%Z i)) (s + 1)%Z)).
  - rewrite (sum_telescopes n (fun s => sum_lt m (fun i => d s i * g (n - s)%Z i))) by exact Hn.
    rewrite Z.sub_0_r, Z.sub_diag, (sum_all_zero m (fun i => d n i * g 0%Z i)) by (intros; rewrite G by assumption; ring).
    rewrite Rminus_0_r; apply sum_ext; intros; rewrite D by assumption; reflexivity.
  - apply sum_ext; intros s _; cbv beta; replace (n - 1 - s + 1)%Z with (n - s)%Z by lia.
    replace (n - (s + 1))%Z with (n - 1 - s)%Z by lia; reflexivity.
Qed.

(** What a step gives, at the next time. *)
Ltac stepped :=
  idtac;
  match goal with
  | B : forall s i, _ -> _ -> ?v (s + 1)%Z i = _ |- ?v (_ + 1)%Z _ = _ => apply B; in_time
  end.

Ltac plain_time :=
  idtac;
  lazymatch goal with |- ?x = _ =>
    lazymatch x with context [(?n - 1 - (?n - 1 - ?s))%Z] =>
      replace (n - 1 - (n - 1 - s))%Z with s by lia; reflexivity end end.

Ltac met_at_each_time :=
  match goal with
  | D0 : forall i, _ -> ?d 0%Z i = _, G0 : forall i, _ -> ?g 0%Z i = 0 |- context [sum_lt ?m (fun i => @?e i * ?g ?n i)] =>
      rewrite (carried_back n m d g e ltac:(lia) D0 G0)
  end.

(** A function of sums that a step takes, as what is carried after it. *)
Ltac carried_again :=
  idtac;
  match goal with
  | B : forall s i, _ -> _ -> ?v (s + 1)%Z i = tanh _ |- tanh _ = _ => symmetry; apply B; in_time
  end.

(** The slope of a tangent as a number at each time, of which no more is known. *)
Ltac hold_slopes :=
  match goal with
  | B : forall s i, _ -> _ -> ?v (s + 1)%Z i = tanh _ |- context [?v] =>
      let q := fresh "q" in
      pose (q := fun s i => 1 - v (s + 1)%Z i * v (s + 1)%Z i);
      inside_both ltac:(idtac; lazymatch goal with |- 1 - v (?s + 1)%Z ?i * v (?s + 1)%Z ?i = ?e =>
        change (q s i = e); reflexivity end);
      cbv beta; clearbody q
  end.

Ltac step_by_step :=
  first
    [ solve [ rewrite <- ?sum_plus, <- ?sum_minus; apply sum_ext; intros; rewrite <- ?sum_plus, <- ?sum_minus; apply sum_ext;
              intros; ring ]
    | solve [adjoint]
    | solve [sums_equal] ].

Ltac loop_adjoint :=
  recurrences; carries_alike; met_at_each_time;
  inside_both ltac:(stepped); cbv beta; inside_both ltac:(plain_time); cbv beta;
  inside_both ltac:(as_carried); cbv beta; one_of_each;
  try (inside_both ltac:(carried_again); cbv beta); try hold_slopes; step_by_step.

(** A printed theorem about what loops carry. *)
Ltac loops law :=
  lazymatch goal with
  | |- is_derive _ _ _ => loop_moves
  | |- sum_lt _ _ = _ => loop_adjoint
  | |- _ => loops_alike
  end.
