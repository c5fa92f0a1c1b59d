-- firqpg, version 2 of the schema: the plans of pop, and waiting for the lock.

-- A pop for a queue that does not exist has its session plan what pops do, while others have the lock of theirs.
do $hook$ declare old text := pg_get_functiondef('@.pop'::regproc); new text := replace(old, 'if s.changed then perform', 'if s.changed and c.id is not null then perform');
begin
  if new = old then raise exception 'firqpg: pop is not that of version 1'; end if;
  execute new;
end $hook$;

-- Who waits for the lock looks less often the longer it has: with many processes before it, it does so for long, and each look costs as much as
-- a tenth of a pop.
create or replace function @.barge(q int) returns void language plpgsql as $$
declare ns int := @.space();
begin
  for k in 1..50 loop
    if pg_try_advisory_xact_lock(ns, q * 8 + 4) then return; end if;
    perform pg_sleep((0.0003 + random() * 0.0012) * least(k, 6));
  end loop;
  perform pg_advisory_xact_lock(ns, q * 8 + 4);
end $$;
