-- firqpg, version 2 of the schema: a pop that has nothing to bring in.

-- While nothing is queued all that is new are acks, most of which are in no hurry: then apply looks for a delta that is, and does not start the statement that
-- brings them in, which takes a ninth of a pop of four tasks.
do $hook$ declare old text := pg_get_functiondef('@.apply'::regproc); new text := replace(old, E'  with l as materialized (', $added$  if acks is not true and not s.more then
    perform from @.log where queue = q and xid >= pg_snapshot_xmax(was) limit 1;
    if not found then
      perform from pg_snapshot_xip(was) i cross join lateral (select from @.log where queue = q and xid = i offset 0) x limit 1;
      if not found then return s; end if;
    end if;
  end if;
  with l as materialized ($added$);
begin
  if new = old then raise exception 'firqpg: apply is not that of version 1'; end if;
  execute new;
end $hook$;
