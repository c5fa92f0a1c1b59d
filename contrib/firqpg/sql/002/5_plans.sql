-- firqpg, version 2 of the schema: what apply and maintain read.

-- edit replaces parts of a function of version 1, each of which it has once.
create function @.edit(which text, variadic parts text[]) returns void language plpgsql as $$
declare def text := pg_get_functiondef(which::regproc);
begin
  for k in 1..cardinality(parts) by 2 loop
    if cardinality(string_to_array(def, parts[k])) <> 2 then raise exception 'firqpg: % is not that of version 1: %', which, parts[k]; end if;
    def := replace(def, parts[k], parts[k + 1]);
  end loop;
  execute def;
end $$;

-- The deltas of a transaction that the last snapshot has not seen are looked up by its number. As a join they are not: planned while log is small, it
-- reads all that the queue has in it, for each pop, with what a held snapshot keeps. offset 0: the subquery stays one.
-- Deltas are added up by tenant and kind first. Then a million that came while there was no consumer take half the time, and no file.
select @.edit('@.apply',
  'select * from @.log where queue = q and xid >= pg_snapshot_xmax(was)', 'select tenant, kind, sum(n)::int n, min(low) low, sum(charge) charge, max(w) w from (
    select * from @.log where queue = q and xid >= pg_snapshot_xmax(was)',
  'select log.* from pg_snapshot_xip(was) i, @.log where queue = q and log.xid = i and pg_visible_in_snapshot(log.xid, cur)',
  'select x.* from pg_snapshot_xip(was) i cross join lateral (select * from @.log where queue = q and xid = i offset 0) x where pg_visible_in_snapshot(i, cur)',
  'select log.* from pg_snapshot_xip(awas) i, @.log where acks and queue = -q and log.xid = i and pg_visible_in_snapshot(log.xid, cur)',
  'select x.* from pg_snapshot_xip(awas) i cross join lateral (select * from @.log where queue = -q and xid = i offset 0) x where acks and pg_visible_in_snapshot(i, cur)
    ) y group by tenant, kind');

-- While nothing is leased, no lease ends before one that is given from now on, whose beginning lowers the mark. Else each second would read what has been leased
-- for as long as a lease is.
select @.edit('@.maintain', 's.lmark := coalesce(l, now);', 's.lmark := coalesce(l, 9e18::bigint);');

-- clip empties log from since until til, at most some 100,000 deltas at a time, and returns where it has ended. A million would hold the lock for a second.
create function @.clip(q int, since xid8, til xid8) returns xid8 language plpgsql as $$
declare x xid8;
begin
  select xid into x from @.log where queue = q and xid >= since order by xid offset 100000 limit 1;
  delete from @.log where queue = q and xid >= since and xid < til and (x is null or xid <= x);
  return greatest(since, least(til, x));
end $$;

select @.edit('@.maintain',
  'delete from @.log where queue = s.queue and xid >= s.gone and xid < pg_snapshot_xmin(s.snap);', 's.gone := @.clip(s.queue, s.gone, pg_snapshot_xmin(s.snap));',
  'delete from @.log where queue = -s.queue and xid >= s.agone and xid < pg_snapshot_xmin(s.asnap);', 's.agone := @.clip(-s.queue, s.agone, pg_snapshot_xmin(s.asnap));',
  's.gone := greatest(s.gone, pg_snapshot_xmin(s.snap)); s.agone := greatest(s.agone, pg_snapshot_xmin(s.asnap));', '');

-- pop removes what has expired before a live task 20 times, and then says so: the caller looks again immediately.
select @.edit('@.pop', 'h.cost := left_::int;', 'h.cost := case when left_ and got = 0 and gone > 0 then 2 else left_::int end;');

drop function @.edit(text, text[]);
