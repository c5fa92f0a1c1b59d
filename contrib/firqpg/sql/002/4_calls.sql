-- firqpg, version 2 of the schema: one ID twice in a call, cancelled tasks that are released, expired ones before a fetch for some tenants.

-- Of two tasks with one ID in a call the first counts, so they are inserted in their order: what is equal leaves a sort in any.
do $hook$ declare which text; old text; new text; begin
  foreach which in array array['@.push', '@.push_alone', '@.push_checked'] loop
    old := pg_get_functiondef(which::regproc); new := replace(old, E' from a order by a.id\n', E' from a order by a.id, a.ord\n');
    if new = old then raise exception 'firqpg: % is not that of version 1', which; end if;
    execute new;
  end loop;
end $hook$;

-- A tenant does not pay for a delivery that is released, also if its task was cancelled in between.
do $hook$ declare old text := pg_get_functiondef('@.leave'::regproc);
  new text := replace(replace(old, 'returning t.id, t.tenant, t.ends, t.ukey, a.ord', 'returning t.id, t.tenant, t.cost, t.ends, t.ukey, a.ord'),
    'null, nullif(delta, 0) from gone', 'null, nullif(case when released then -sum(gone.cost) else delta end, 0) from gone');
begin
  if cardinality(string_to_array(new, 'gone.cost')) <> 2 or position('t.tenant, t.cost, t.ends' in new) = 0 then raise exception 'firqpg: leave is not that of version 1'; end if;
  execute new;
end $hook$;

-- A fetch for some tenants goes on behind what has expired, as one for all does: else their other tasks would wait, and those to steal come first.
do $hook$ declare old text := pg_get_functiondef('@.pop'::regproc);
  new text := replace(old, 'exit when v0 is null or names is not null or patterns is not null;', 'exit when v0 is null or gone = 0 and (names is not null or patterns is not null);');
begin
  if new = old then raise exception 'firqpg: pop is not that of version 1'; end if;
  execute new;
end $hook$;
