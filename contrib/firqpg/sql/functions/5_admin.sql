-- These are rare. They hold the lock, so they must not wait for a transaction that may be open for long: @held has a lock_timeout, and
-- the client tries again.

-- open returns a queue's number, and makes the queue if it is new.
create or replace function @.open(which text) returns int language plpgsql @held as $$
declare q int; s @.state; c @.queue;
begin
  select id into q from @.queue where name = which;
  if q is null then
    insert into @.queue (name) values (which) on conflict do nothing;
    select id into q from @.queue where name = which;
  end if;
  if exists (select from @.state where queue = q and sysid = @.sysid() and pg_snapshot_xmax(snap) <= pg_snapshot_xmax(pg_current_snapshot())) then return q; end if;
  perform @.lock(q);
  select * into s from @.state where queue = q order by seq desc limit 1;
  if s.queue is null then
    insert into @.state (queue, seq, snap, asnap, sysid, waits) values (q, 0, pg_current_snapshot(), pg_current_snapshot(), @.sysid(), array_fill(0::bigint, array[32]));
  elsif s.sysid <> @.sysid() then
    select * into c from @.queue where id = q;
    perform @.put(@.restored(s, coalesce(c.maxinflightpertenant, 0)));
  end if;
  return q;
end $$;

-- upkeep brings in what was appended and, if it is to, what is due, and returns the state; more: there is more of it.
create or replace function @.upkeep(q int, idlefor bigint, due boolean) returns @.state language plpgsql @held as $$
declare c @.queue; s @.state; now bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); now := @.now_us();
  if due then
    if s.sysid <> @.sysid() then s := @.restored(s, coalesce(c.maxinflightpertenant, 0)); end if;
    s := @.maintain(s, c, now, idlefor, 500);
    if s.nd <= now then perform @.wake(q); end if;
  end if;
  if exists (select from @.tenant where queue = q and ready and (f, pos) >= (s.v, s.vpos)) then perform @.wake(q); end if;
  if s.changed then perform @.put(s); end if;
  s.more := s.more or due and s.nd <= now;
  return s;
end $$;

-- cancel: 0 there is no such task, 1 it is gone, 2 it is in flight.
create or replace function @.cancel(q int, which text) returns int language plpgsql @held as $$
declare c @.queue; s @.state; t @.task; dim bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where queue.id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0);
  select * into t from @.task where task.id = which and queue = q for update;
  if not found or t.state = 3 then
    if s.changed then perform @.put(s); end if;
    return 0;
  elsif t.state = 1 then
    update @.task set cancelled = true where task.id = which and queue = q;
    if s.changed then perform @.put(s); end if;
    return 2;
  end if;
  delete from @.task where task.id = which and queue = q;
  if t.ends then delete from @.ukey y where y.ukey = t.ukey and y.tenant = t.tenant and y.queue = q and y.id = which; end if;
  s.cancelled := s.cancelled + 1;
  -- The task may be newer than what apply has seen: its delta comes later, and then the sums are right again.
  if t.state = 0 then s.queued := s.queued - 1; perform @.adjust(s, t.tenant, dim, -1, 0, 0, 0, null);
  else s.delayed := s.delayed - 1; perform @.adjust(s, t.tenant, dim, 0, -1, 0, 0, null); end if;
  perform @.put(s);
  return 1;
end $$;

create or replace function @.pause(q int, who text, yes boolean) returns void language plpgsql @held as $$
declare c @.queue; s @.state; dim bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0);
  if who = '' then s.paused := yes;
  else
    perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
    update @.tenant set paused = yes where ctid = (select ctid from @.tenant where queue = q and tenant = who order by seq desc limit 1);
    perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
  end if;
  perform @.put(s);
  if not yes then perform @.wake(q); end if;
end $$;

-- settle sets what is not null of a tenant: a weight, how many queued, how many in flight. 0: the queue's; below 0: none.
create or replace function @.settle(q int, who text, weight float8, mq bigint, mi bigint) returns void language plpgsql @held as $$
declare c @.queue; s @.state; dim bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0);
  perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
  update @.tenant set w = case when weight is null then w else nullif(weight, 0) end, qm = case when mq is null then qm else nullif(mq, 0) end,
    im = case when mi is null then im else nullif(mi, 0) end
  where ctid = (select ctid from @.tenant where queue = q and tenant = who order by seq desc limit 1);
  perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
  if mi > 0 then update @.queue set limited = true where id = q and not limited; end if;
  if mq > 0 then update @.queue set capped = true where id = q and not capped; end if;
  perform @.put(s); perform @.wake(q);
end $$;

-- configure sets the settings that are not null, and returns the others as they were. 0: as if not set.
create or replace function @.configure(q int, new bigint[]) returns void language plpgsql @held as $$
declare c @.queue; s @.state; dim bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c);
  update @.queue set maxqueued = case when new[1] is null then maxqueued else nullif(new[1], 0) end,
    maxqueuedpertenant = case when new[2] is null then maxqueuedpertenant else nullif(new[2], 0) end,
    maxinflight = case when new[3] is null then maxinflight else nullif(new[3], 0) end,
    maxinflightpertenant = case when new[4] is null then maxinflightpertenant else nullif(new[4], 0) end,
    aging = case when new[5] is null then aging else nullif(new[5], 0) end,
    deads = case when new[6] is null then deads else nullif(new[6], 0) end,
    deadfor = case when new[7] is null then deadfor else nullif(new[7], 0) end
  where id = q returning * into c;
  dim := coalesce(c.maxinflightpertenant, 0);
  -- Tenants that were held back go on, and the other way round.
  perform @.adjust(s, t.tenant, dim, 0, 0, 0, 0, null) from @.tenant t
    where t.queue = q and t.n > 0 and not t.paused and (t.held is not null or t.ready <> (coalesce(t.im, dim) <= 0 or t.i < coalesce(t.im, dim)));
  s.nd := 0;
  perform @.put(s); perform @.wake(q);
end $$;

create or replace function @.requeue(q int, which text[]) returns setof text language plpgsql @held as $$
declare c @.queue; s @.state; r record; now bigint := @.now_us(); dim bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0);
  for r in update @.task t set state = 0, attempt = 0, queued = now + o.ord, first = now + o.ord, due = now + o.ord, until = 0, cancelled = false,
      score = @.score(now + o.ord, t.priority, c.aging)
    from unnest(which) with ordinality o(i, ord) where t.queue = q and t.id = o.i and t.state = 3 returning t.*
  loop
    perform @.adjust(s, r.tenant, dim, 1, 0, 0, -1, r.score);
    if r.ends then insert into @.ukey values (q, r.tenant, r.ukey, r.id, null) on conflict do nothing; end if;
    s.queued := s.queued + 1; s.deadnow := s.deadnow - 1; s.requeued := s.requeued + 1;
    return next r.id;
  end loop;
  perform @.put(s); perform @.wake(q);
end $$;

create or replace function @.purge(q int, which text[]) returns int language plpgsql @held as $$
declare c @.queue; s @.state; r record; dim bigint; total int := 0;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0);
  for r in with g as (delete from @.task t where t.queue = q and t.id = any (which) and t.state = 3 returning tenant) select tenant, count(*)::int n from g group by tenant
  loop
    perform @.adjust(s, r.tenant, dim, 0, 0, 0, -r.n, null); total := total + r.n;
  end loop;
  s.purged := s.purged + total; s.deadnow := s.deadnow - total;
  perform @.put(s);
  return total;
end $$;

-- oldest is since when a tenant's oldest queued task is due. Strict priorities are apart in the order, and each begins with its oldest task;
-- ageing mixes them, and then it is looked for among the first hundred.
create or replace function @.oldest(q int, who text, mark bigint, aging bigint) returns bigint language plpgsql stable @indexed as $$
declare at bigint; x bigint; low bigint; high bigint;
begin
  if aging < 300000000000000 then
    select min(first) into at from (select first from @.task where queue = q and tenant = who and state = 0 and score >= mark order by score, id limit 100) t;
    return at;
  end if;
  for p in 1..6 loop
    high := case p when 6 then -1000000000000000 else @.now_us() + 157680000000000 - (p - 1) * 315360000000000 end;
    low := case p when 6 then -9e18::bigint else high - 315360000000000 end;
    select min(first) into x from (select first from @.task where queue = q and tenant = who and state = 0 and score >= greatest(mark, low) and score < high order by score, id limit 1) t;
    at := least(at, x);
  end loop;
  return at;
end $$;

-- tenants returns the numbers of tenants: of those that are named, or of those that have tasks, by name, after one. upkeep comes first.
create or replace function @.tenants(q int, which text[], after text, lim int) returns table (tenant text, n bigint, z bigint, i bigint, x bigint, e bigint, d bigint, oldest bigint,
  weight float8, paused boolean, w float8, qm bigint, im bigint) language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare now bigint := @.now_us(); aging bigint;
begin
  select c.aging into aging from @.queue c where c.id = q;
  return query select t.tenant, greatest(t.n, 0), greatest(t.z, 0), greatest(t.i, 0), greatest(t.x, 0), t.e, t.d, greatest(0, now - o.at),
      coalesce(t.w, t.wd, 1), t.paused, coalesce(t.w, 0), coalesce(t.qm, 0), coalesce(t.im, 0)
    from @.tenant t left join lateral (select case when t.n > 0 then @.oldest(q, t.tenant, t.mark, aging) end at) o on true
    where t.queue = q and (which is null and t.n + t.z + t.i > 0 and t.tenant > after or t.tenant = any (which))
    order by t.tenant limit lim;
end $$;
