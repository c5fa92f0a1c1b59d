-- The functions of version 1 of the schema, for the test of its upgrade; sql/001.sql has its tables.
create function @.now_us() returns bigint language sql volatile as $$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint $$;

-- score is a task's place within its tenant. 6: before all others; 1 to 5: a head start per priority. 315360000000000: ten years,
-- which no task waits: strict.
create function @.score(at bigint, p int, aging bigint) returns bigint language sql immutable as
$$ select case when p = 6 then at - 6000000000000000 else at - (p - 1) * coalesce(aging, 315360000000000) end $$;

create function @.sysid() returns bigint language sql stable as $$ select system_identifier from pg_control_system() $$;

-- space is the first half of the schema's advisory locks. The second half is 8 times the queue plus 0 to 3 for a slot, 4 for the lock.
create function @.space() returns int language sql stable as $$ select @ns::regnamespace::oid::int $$;

-- wake tells one process that sleeps, if any does, and costs next to nothing if none does: a sleeper holds the lock of a slot.
-- The caller has written before, so that a sleeper that took its slot after this look waits for the caller's transaction.
create function @.wake(q int) returns void language plpgsql as $$
declare first int := (random() * 3.999)::int; ns int := @.space(); k int;
begin
  for j in 0..3 loop
    k := (first + j) % 4;
    if pg_try_advisory_lock_shared(ns, q * 8 + k) then perform pg_advisory_unlock_shared(ns, q * 8 + k);
    else perform pg_notify('firq_' || ns || '_' || q || '_' || k, ''); return;
    end if;
  end loop;
end $$;

create function @.lock(q int) returns void language sql as $$ select pg_advisory_xact_lock(@.space(), q * 8 + 4) $$;

-- barge is lock without a queue of those that wait: the one that runs takes it, and the lock is never handed to one that sleeps.
create function @.barge(q int) returns void language plpgsql as $$
declare ns int := @.space();
begin
  for k in 1..200 loop
    if pg_try_advisory_xact_lock(ns, q * 8 + 4) then return; end if;
    perform pg_sleep(0.0003 + random() * 0.0012);
  end loop;
  perform pg_advisory_xact_lock(ns, q * 8 + 4);
end $$;

-- upto is what a snapshot sees of the transactions before x.
create function @.upto(cur pg_snapshot, x bigint) returns pg_snapshot language sql as $$
  select format('%s:%s:%s', least(pg_snapshot_xmin(cur)::text::bigint, x), x,
    coalesce((select string_agg(i::text, ',' order by i::text::bigint) from pg_snapshot_xip(cur) i where i::text::bigint < x), ''))::pg_snapshot
$$;

-- seen is what this transaction sees of the others. A snapshot does not name the transaction that takes it, which would so count as over: what it appends
-- later would never be brought in.
create function @.seen(cur pg_snapshot) returns pg_snapshot language plpgsql as $$
declare own bigint := pg_current_xact_id_if_assigned()::text::bigint;
begin
  if own is null or own >= pg_snapshot_xmax(cur)::text::bigint then return cur; end if;
  return (select format('%s:%s:%s', least(pg_snapshot_xmin(cur)::text::bigint, own), pg_snapshot_xmax(cur), string_agg(x::text, ',' order by x))
    from (select i::text::bigint x from pg_snapshot_xip(cur) i union select own) t)::pg_snapshot;
end $$;

-- put stores the state as its next version.
create function @.put(s @.state) returns void language plpgsql as $$
declare ct tid;
begin
  select ctid into ct from @.state where queue = s.queue order by seq desc limit 1;
  delete from @.state where ctid = ct;
  s.seq := s.seq + 1; s.changed := false;
  insert into @.state select s.*;
end $$;

-- apply brings what others have appended into the shared state. The caller has the lock, and stores the state.
-- New are the deltas of transactions that the last snapshot did not see, and this one does: exact, whatever commits when.
create function @.apply(c @.queue, hurry boolean default true) returns @.state language plpgsql as $$
declare s @.state; q int := c.id; dim bigint := coalesce(c.maxinflightpertenant, 0); deads bigint := coalesce(c.deads, 10000);
  was pg_snapshot; cur pg_snapshot := @.seen(pg_current_snapshot()); awas pg_snapshot; acks boolean; x bigint; d record; who text;
begin
  select * into s from @.state where queue = q order by seq desc limit 1;
  was := s.snap; awas := s.asnap;
  if pg_snapshot_xmax(cur) < pg_snapshot_xmax(was) then return @.restored(s, dim); end if;
  if s.more or pg_snapshot_xmax(cur)::text::bigint - pg_snapshot_xmax(was)::text::bigint > 10000 then -- not too much at a time
    select xid::text::bigint into x from @.log where queue = q and xid >= pg_snapshot_xmax(was) order by xid offset 20000 limit 1;
    s.changed := s.changed or s.more <> (x is not null);
    s.more := x is not null;
    if s.more then cur := @.upto(cur, x + 1); end if;
  end if;
  acks := hurry or c.limited or c.maxinflight > 0 or dim > 0 or @.now_us() >= s.anext;
  with l as materialized (
    select * from @.log where queue = q and xid >= pg_snapshot_xmax(was) and xid < pg_snapshot_xmax(cur) and pg_visible_in_snapshot(xid, cur)
    union all
    select log.* from pg_snapshot_xip(was) i, @.log where queue = q and log.xid = i and pg_visible_in_snapshot(log.xid, cur)
    union all
    select * from @.log where acks and queue = -q and xid >= pg_snapshot_xmax(awas) and xid < pg_snapshot_xmax(cur) and pg_visible_in_snapshot(xid, cur)
    union all
    select log.* from pg_snapshot_xip(awas) i, @.log where acks and queue = -q and log.xid = i and pg_visible_in_snapshot(log.xid, cur)
  ), a as materialized (
    select l.tenant, sum(case when kind in (1, 4, 7) then l.n else 0 end) dn, sum(case when kind in (2, 5) then l.n else 0 end) dz,
      sum(case when kind between 3 and 9 then l.n else 0 end) di, sum(case when kind = 6 then l.n else 0 end) dx,
      sum(case when kind in (1, 2) then l.n else 0 end) de, min(case when kind in (1, 4, 7) then low end) low, sum(charge) charge, max(l.w) w
    from l where kind < 13 group by l.tenant
  ), old as materialized (
    select a.*, t.ct, t.f + greatest(-1e15, least(coalesce(charge, 0) / coalesce(t.w, a.w, t.wd, 1), 1e15)) tag, t.n + dn > 0 and not t.paused eligible
    from a left join lateral (select ctid ct, t.* from @.tenant t where t.queue = q and t.tenant = a.tenant order by seq desc limit 1) t on true
  ), u as (
    update @.tenant t set seq = t.seq + 1, n = t.n + dn, z = t.z + dz, i = t.i - di, x = t.x + dx, e = t.e + de, wd = coalesce(old.w, t.wd),
      mark = case when t.n <= 0 and low is not null then low else least(t.mark, coalesce(low, t.mark)) end,
      f = case when eligible then greatest(tag, s.v) else tag end,
      pos = case when t.ready and t.f = case when eligible then greatest(tag, s.v) else tag end then t.pos else s.seq + 1 end,
      ready = eligible and (coalesce(t.im, dim) <= 0 or t.i - di < coalesce(t.im, dim)),
      idle = case when t.n + dn + t.z + dz + t.i - di <= 0 then greatest(s.hlc, 1) else 0 end
    from old where t.ctid = ct
  ), ins as (
    insert into @.tenant (queue, tenant, seq, f, pos, ready, mark, n, z, i, x, e, d, wd)
    select q, old.tenant, 0, s.v, s.seq + 1, dn > 0 and (dim <= 0 or -di < dim), coalesce(low, 9e18::bigint), dn, dz, -di, dx, de, 0, w from old where ct is null
  )
  select count(*) total,
    coalesce(sum(n) filter (where kind in (1, 4, 7)), 0) dn, coalesce(sum(n) filter (where kind in (2, 5)), 0) dz,
    coalesce(sum(n) filter (where kind between 3 and 9), 0) di, coalesce(sum(n) filter (where kind in (1, 2)), 0) e,
    coalesce(sum(n) filter (where kind = 3), 0) acked, coalesce(sum(n) filter (where kind in (4, 5, 6, 8)), 0) nacked,
    coalesce(sum(n) filter (where kind = 6), 0) dead, coalesce(sum(n) filter (where kind in (7, 9)), 0) released,
    coalesce(sum(n) filter (where kind in (8, 9)), 0) cancelled, coalesce(sum(n) filter (where kind = 13), 0) dups,
    coalesce(sum(n) filter (where kind = 14), 0) rejected, coalesce(sum(n) filter (where kind = 15), 0) lost,
    min(low) filter (where kind in (2, 5)) due, min(low) filter (where kind = 16) lease,
    array_agg(distinct tenant) filter (where kind = 6) deadof
  into d from l;
  if d.total = 0 and not s.more then return s; end if;
  s.snap := cur; s.changed := true;
  if acks then s.asnap := cur; s.anext := @.now_us() + 100000; end if;
  s.queued := s.queued + d.dn; s.delayed := s.delayed + d.dz; s.inflight := s.inflight - d.di; s.deadnow := s.deadnow + d.dead;
  s.enqueued := s.enqueued + d.e; s.acked := s.acked + d.acked; s.nacked := s.nacked + d.nacked; s.dead := s.dead + d.dead;
  s.released := s.released + d.released; s.cancelled := s.cancelled + d.cancelled; s.duplicates := s.duplicates + d.dups;
  s.rejected := s.rejected + d.rejected; s.leaselost := s.leaselost + d.lost;
  if d.due is not null then s.zmark := least(s.zmark, d.due); s.nd := least(s.nd, d.due); end if;
  if d.lease is not null then s.lmark := least(s.lmark, d.lease); s.nd := least(s.nd, d.lease); end if;
  if d.deadof is not null then
    if coalesce(c.deadfor, 0) >= 0 then s.nd := least(s.nd, @.now_us() + coalesce(c.deadfor, 2592000000000)); end if;
    foreach who in array d.deadof loop s := @.retain(s, who, dim, deads); end loop;
  end if;
  return s;
end $$;

-- adjust changes a tenant, and places it. The caller has the lock and has applied the log.
create function @.adjust(s @.state, who text, dim bigint, dn bigint, dz bigint, di bigint, dx bigint, low bigint) returns void language plpgsql as $$
declare ct tid;
begin
  select ctid into ct from @.tenant where queue = s.queue and tenant = who order by seq desc limit 1;
  if ct is null then
    insert into @.tenant (queue, tenant, seq, f, ready, mark, n, z, i, x, e, d)
    values (s.queue, who, 0, s.v, false, 9e18::bigint, 0, 0, 0, 0, 0, 0) returning ctid into ct;
  end if;
  update @.tenant t set seq = seq + 1, n = n + dn, z = z + dz, i = i + di, x = x + dx,
    mark = case when n <= 0 and low is not null then low else least(mark, coalesce(low, mark)) end,
    f = case when n + dn > 0 and not t.paused then greatest(f, s.v) else f end,
    pos = case when ready and f >= s.v then pos else s.seq + 1 end,
    ready = n + dn > 0 and not t.paused and (coalesce(im, dim) <= 0 or i + di < coalesce(im, dim)),
    idle = case when n + dn + z + dz + i + di <= 0 then @.now_us() else 0 end
  where t.ctid = ct;
end $$;

-- retain removes the dead letters of a tenant that are too many.
create function @.retain(s @.state, who text, dim bigint, deads bigint) returns @.state language plpgsql as $$
declare have bigint; cnt int;
begin
  select x into have from @.tenant where queue = s.queue and tenant = who order by seq desc limit 1;
  if deads < 0 or have <= deads then return s; end if;
  delete from @.task where ctid = any (array(select ctid from @.task where queue = s.queue and tenant = who and state = 3 order by until limit have - deads));
  get diagnostics cnt = row_count;
  perform @.adjust(s, who, dim, 0, 0, 0, -cnt, null);
  s.purged := s.purged + cnt; s.deadnow := s.deadnow - cnt;
  return s;
end $$;

-- restored begins anew after the transaction numbers have, in a server that was made of a dump, say. What the cursor of the dump had not seen is added to the
-- counters of what has ended. The tasks are counted: clients may have come before this is noticed, whose deltas are not to be told from old ones.
create function @.restored(s @.state, dim bigint) returns @.state language plpgsql as $$
declare r record; d record; have bigint;
begin
  select coalesce(sum(n) filter (where kind = 3), 0) acked, coalesce(sum(n) filter (where kind in (4, 5, 6, 8)), 0) nacked,
    coalesce(sum(n) filter (where kind in (7, 9)), 0) released, coalesce(sum(n) filter (where kind in (8, 9)), 0) cancelled,
    coalesce(sum(n) filter (where kind = 13), 0) dups, coalesce(sum(n) filter (where kind = 14), 0) rejected, coalesce(sum(n) filter (where kind = 15), 0) lost
  into d from @.log where queue = s.queue and not pg_visible_in_snapshot(xid, s.snap) or queue = -s.queue and not pg_visible_in_snapshot(xid, s.asnap);
  s.acked := s.acked + d.acked; s.nacked := s.nacked + d.nacked; s.released := s.released + d.released; s.cancelled := s.cancelled + d.cancelled;
  s.duplicates := s.duplicates + d.dups; s.rejected := s.rejected + d.rejected; s.leaselost := s.leaselost + d.lost;
  delete from @.log where queue in (s.queue, -s.queue);
  with c as materialized (
    select tenant, count(*) filter (where state = 0) n, count(*) filter (where state = 2) z, count(*) filter (where state = 1) i,
      count(*) filter (where state = 3) x, coalesce(min(score) filter (where state = 0), 9e18::bigint) mark
    from @.task where queue = s.queue group by tenant
  ), old as (
    delete from @.tenant where queue = s.queue returning *
  ), new as (
    insert into @.tenant (queue, tenant, seq, f, pos, ready, mark, n, z, i, x, e, d, w, wd, qm, im, paused, idle)
    select s.queue, tenant, coalesce(old.seq, 0) + 1, greatest(old.f, s.v), s.seq + 1, coalesce(c.n, 0) > 0 and not coalesce(old.paused, false)
        and (coalesce(old.im, dim) <= 0 or coalesce(c.i, 0) < coalesce(old.im, dim)), coalesce(c.mark, 9e18::bigint),
      coalesce(c.n, 0), coalesce(c.z, 0), coalesce(c.i, 0), coalesce(c.x, 0), coalesce(old.e, 0), coalesce(old.d, 0), old.w, old.wd, old.qm, old.im,
      coalesce(old.paused, false), case when coalesce(c.n + c.z + c.i, 0) = 0 then 1 else 0 end
    from c full join old using (tenant)
  )
  select coalesce(sum(n), 0) n, coalesce(sum(z), 0) z, coalesce(sum(i), 0) i, coalesce(sum(x), 0) x, pg_current_snapshot() cur into r from c;
  s.queued := r.n; s.delayed := r.z; s.inflight := r.i; s.deadnow := r.x;
  s.snap := @.seen(r.cur); s.asnap := s.snap; s.gone := '0'; s.agone := '0'; s.sysid := @.sysid(); s.more := false; s.changed := true;
  s.zmark := 0; s.lmark := 0; s.xmark := 0; s.imark := 0; s.nd := 0; s.vpos := 0;
  s.dead := greatest(s.dead, s.requeued + s.purged + s.deadnow);
  s.purged := s.dead - s.requeued - s.deadnow;
  have := s.acked + s.cancelled + s.expired + s.dead + s.queued + s.delayed + s.inflight - s.requeued;
  s.acked := s.acked + greatest(s.enqueued - have, 0); s.enqueued := greatest(s.enqueued, have);
  s.delivered := s.acked + s.nacked + s.released + s.leaseexpired + s.inflight;
  return s;
end $$;

-- push accepts tasks. Per task, in order: 1 accepted; 0 known already; -1 the tenant is full; -2 the queue is; 2 and the id that has the
-- unique key. strict: 1: this is the whole transaction, so that limits can be checked under the lock; 0: it is not; -1: there are no limits.
-- All that may wait for others (the same id, the same key) comes before the lock, and in one order: calls do not deadlock, and a
-- transaction that stays open holds up nobody else.
create function @.push(q int, strict int, ids text[], tenants text[], prios smallint[], costs bigint[], ws float8[], ats bigint[], delays bigint[],
  deadlines bigint[], mosts int[], ukeys text[], ufors bigint[], metas bytea[], loads bytea[]) returns table (res int, owner text) language plpgsql @indexed as $$
declare now bigint := @.now_us(); c @.queue; at bigint;
begin
  select * into c from @.queue where queue.id = q;
  if c.maxqueued > 0 or c.maxqueuedpertenant > 0 or c.capped or array_to_string(ukeys, '') <> '' then
    return query select * from @.push_checked(c, now, strict, ids, tenants, prios, costs, ws, ats, delays, deadlines, mosts, ukeys, ufors, metas, loads);
  elsif cardinality(ids) = 1 then
    at := case when ats[1] > 0 then ats[1] else now + delays[1] end;
    insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload)
      values (q, ids[1], tenants[1], case when at > now then 2 else 0 end, prios[1], costs[1], 0, mosts[1], now, greatest(at, now), at, deadlines[1],
        @.score(greatest(at, now), prios[1], c.aging), metas[1], loads[1])
      on conflict do nothing;
    if found then
      insert into @.log (queue, xid, tenant, kind, n, low, w)
        values (q, pg_current_xact_id(), tenants[1], case when at > now then 2 else 1 end, 1, case when at > now then at else @.score(now, prios[1], c.aging) end, ws[1]);
      res := 1;
    else res := 0; end if;
    return next;
  else
    return query with a as materialized (
      select u.*, case when u.due > 0 then u.due else now + ord - 1 + u.delay end due0 from unnest(ids, tenants, prios, costs, ws, ats, delays, deadlines, mosts, metas, loads)
        with ordinality u(id, tenant, prio, cost, w, due, delay, deadline, most, meta, load, ord)
    ), new as (
      insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload)
      select q, a.id, a.tenant, case when due0 > now + ord - 1 then 2 else 0 end, a.prio, a.cost, 0, a.most, now + ord - 1, greatest(due0, now + ord - 1), due0, a.deadline,
        @.score(greatest(due0, now + ord - 1), a.prio, c.aging), a.meta, a.load from a order by a.id
      on conflict do nothing returning task.id, task.tenant, task.state, task.score, task.due, task.queued
    ), l as (
      insert into @.log (queue, xid, tenant, kind, n, low, w)
      select q, pg_current_xact_id(), new.tenant, case new.state when 0 then 1 else 2 end, count(*), min(case new.state when 0 then new.score else new.due end), max(a.w)
      from new join a on a.id = new.id and new.queued = now + a.ord - 1 group by new.tenant, new.state
    )
    select (new.id is not null)::int, null::text from a left join new on new.id = a.id and new.queued = now + a.ord - 1 order by a.ord;
  end if;
  perform @.wake(q);
end $$;

-- push_alone is push by itself, not in a user's transaction. Calls share it: one task whose ID, or unique key, an open transaction has must not hold up
-- the others for long.
do $copy$ begin execute replace(pg_get_functiondef('@.push'::regproc), '.push(', '.push_alone('); end $copy$;
alter function @.push_alone set lock_timeout = '1s';

-- push_checked is push where there are limits or unique keys.
create function @.push_checked(c @.queue, now bigint, strict int, ids text[], tenants text[], prios smallint[], costs bigint[], ws float8[], ats bigint[],
  delays bigint[], deadlines bigint[], mosts int[], ukeys text[], ufors bigint[], metas bytea[], loads bytea[]) returns table (res int, owner text) language plpgsql as $$
declare q int := c.id; n int := cardinality(ids); out int[] := array_fill(0, array[n]); owners text[] := array_fill(null::text, array[n]); mine text;
  s @.state; r record; here jsonb := '{}'; tq bigint; gq bigint := coalesce(c.maxqueued, 0); held bigint; dups int := 0; full_ int := 0;
begin
  for r in with a as (
      select u.*, case when u.due > 0 then u.due else now + ord - 1 + u.delay end due0 from unnest(ids, tenants, prios, costs, ats, delays, deadlines, mosts, ukeys, ufors, metas, loads)
        with ordinality u(id, tenant, prio, cost, due, delay, deadline, most, ukey, ufor, meta, load, ord)
    )
    insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload, ukey, ends)
    select q, a.id, a.tenant, case when due0 > now + ord - 1 then 2 else 0 end, a.prio, a.cost, 0, a.most, now + ord - 1, greatest(due0, now + ord - 1), due0, a.deadline,
      @.score(greatest(due0, now + ord - 1), a.prio, c.aging), a.meta, a.load, nullif(a.ukey, ''), a.ukey <> '' and a.ufor = 0 from a order by a.id
    on conflict do nothing returning queued - now + 1 ord
  loop out[r.ord] := 1; end loop;

  for r in select * from unnest(tenants, ukeys, ids, ufors) with ordinality u(tenant, ukey, id, ufor, ord) where u.ukey <> '' and out[ord] = 1 order by u.tenant, u.ukey, ord loop
    delete from @.ukey y where y.ukey = r.ukey and y.tenant = r.tenant and y.queue = q and y.until <= now;
    loop
      insert into @.ukey values (q, r.tenant, r.ukey, r.id, case when r.ufor > 0 then now + r.ufor end) on conflict do nothing;
      exit when found;
      select y.id into mine from @.ukey y where y.ukey = r.ukey and y.tenant = r.tenant and y.queue = q;
      continue when not found and current_setting('transaction_isolation') = 'read committed'; -- it has ended just now
      delete from @.task t where t.id = r.id and t.queue = q;
      out[r.ord] := 2; owners[r.ord] := coalesce(mine, r.id); dups := dups + 1;
      exit;
    end loop;
  end loop;

  if strict >= 0 and (gq > 0 or c.maxqueuedpertenant > 0 or c.capped) then
    if strict = 1 then perform @.lock(q); s := @.apply(c); if s.changed then perform @.put(s); end if;
    else select * into s from @.state where queue = q order by seq desc limit 1; end if;
    held := s.queued + s.delayed;
    for k in 1..n loop
      continue when out[k] <> 1;
      tq := coalesce((here ->> tenants[k])::bigint, 0);
      select coalesce(x.qm, c.maxqueuedpertenant, 0) most, x.n + x.z c into r from @.tenant x where x.queue = q and x.tenant = tenants[k] order by seq desc limit 1;
      if not found then select coalesce(c.maxqueuedpertenant, 0) most, 0::bigint c into r; end if;
      if r.most > 0 and r.c + tq >= r.most then out[k] := -1;
      elsif gq > 0 and held >= gq then out[k] := -2;
      else held := held + 1; here := here || jsonb_build_object(tenants[k], tq + 1); continue; end if;
      full_ := full_ + 1;
      delete from @.task t where t.id = ids[k] and t.queue = q;
      delete from @.ukey y where y.ukey = ukeys[k] and y.tenant = tenants[k] and y.queue = q and y.id = ids[k];
    end loop;
  end if;

  insert into @.log (queue, xid, tenant, kind, n, low, w)
    select q, pg_current_xact_id(), t.tenant, case t.state when 0 then 1 else 2 end, count(*), min(case t.state when 0 then t.score else t.due end), max(ws[u.ord])
    from unnest(ids) with ordinality u(id, ord) join @.task t on t.id = u.id and t.queue = q where out[u.ord] = 1 group by t.tenant, t.state
    union all select q, pg_current_xact_id(), '', 13, dups, null, null where dups > 0
    union all select q, pg_current_xact_id(), '', 14, full_, null, null where full_ > 0;
  return query select * from unnest(out, owners);
end $$;

-- maintain brings in what is due, takes back what was leased for too long, and sweeps. The caller has the lock and has applied the
-- log. Rows that a transaction has locked are left to it. lim: how many of each kind; if there are more, nd is now.
create function @.maintain(s @.state, c @.queue, now bigint, idlefor bigint, lim int) returns @.state language plpgsql as $$
declare r record; z bigint; l bigint; x bigint; dim bigint := coalesce(c.maxinflightpertenant, 0); deads bigint := coalesce(c.deads, 10000);
  deadfor bigint := coalesce(c.deadfor, 2592000000000); done int := 0;
begin
  for r in with ripe as (select ctid ct from @.task where queue = s.queue and state = 2 and task.due >= s.zmark and task.due <= now order by task.due limit lim),
    u as (update @.task t set state = 0 from ripe where t.ctid = ripe.ct returning t.tenant, t.score)
    select tenant, count(*) n, min(score) low from u group by tenant
  loop
    perform @.adjust(s, r.tenant, dim, r.n, -r.n, 0, 0, r.low);
    s.delayed := s.delayed - r.n; s.queued := s.queued + r.n; done := done + r.n;
  end loop;

  for r in with old as materialized (
      select ctid ct, ends, ukey, tenant, id from @.task where queue = s.queue and state = 1 and until >= s.lmark and until <= now order by until, id limit lim for update skip locked),
    k as (delete from @.task t using old where t.ctid = old.ct and t.cancelled returning t.id, t.tenant),
    u as (
      update @.task t set attempt = t.attempt + 1, state = case when t.attempt + 1 >= t.most then 3 else 0 end,
        until = case when t.attempt + 1 >= t.most then now else 0 end, reason = case when t.attempt + 1 >= t.most then 'lease ran out' else t.reason end
      from old where t.ctid = old.ct and not t.cancelled returning t.tenant, t.state, t.score, t.id),
    dk as (delete from @.ukey y using old, (select id from k union all select id from u where state = 3) g
      where old.ends and g.id = old.id and y.queue = s.queue and y.tenant = old.tenant and y.ukey = old.ukey and y.id = old.id)
    select tenant, what, count(*) n, min(score) low from (select tenant, state::int what, score from u union all select tenant, 9, null from k) x group by tenant, what
  loop
    s.leaseexpired := s.leaseexpired + r.n; s.inflight := s.inflight - r.n; done := done + r.n;
    if r.what = 0 then s.queued := s.queued + r.n; perform @.adjust(s, r.tenant, dim, r.n, 0, -r.n, 0, r.low);
    elsif r.what = 3 then
      s.dead := s.dead + r.n; s.deadnow := s.deadnow + r.n; perform @.adjust(s, r.tenant, dim, 0, 0, -r.n, r.n, null);
      s := @.retain(s, r.tenant, dim, deads);
    else s.cancelled := s.cancelled + r.n; perform @.adjust(s, r.tenant, dim, 0, 0, -r.n, 0, null);
    end if;
  end loop;

  if deadfor >= 0 then
    for r in with d as (
        delete from @.task where ctid = any (array(select ctid from @.task where queue = s.queue and state = 3 and until >= s.xmark and until <= now - deadfor order by until, id limit lim)) returning tenant)
      select tenant, count(*) n from d group by tenant
    loop
      perform @.adjust(s, r.tenant, dim, 0, 0, 0, -r.n, null); s.purged := s.purged + r.n; s.deadnow := s.deadnow - r.n; done := done + r.n;
    end loop;
    select min(until) into x from (select until from @.task where queue = s.queue and state = 3 and until >= s.xmark order by until, id limit 1) y;
    s.xmark := least(coalesce(x, now), now - 600000000); -- one that died earlier may be about to commit
  end if;

  if now - s.swept > 1000000 then                   -- each from where the last sweep ended
    s.swept := now;
    delete from @.log where queue = s.queue and xid >= s.gone and xid < pg_snapshot_xmin(s.snap);
    delete from @.log where queue = -s.queue and xid >= s.agone and xid < pg_snapshot_xmin(s.asnap);
    s.gone := greatest(s.gone, pg_snapshot_xmin(s.snap)); s.agone := greatest(s.agone, pg_snapshot_xmin(s.asnap));
    delete from @.tenant y where y.queue = s.queue and y.idle > 0 and y.idle > s.imark and y.idle <= now - idlefor
      and y.n = 0 and y.z = 0 and y.i = 0 and y.x = 0 and not y.paused and y.w is null and y.qm is null and y.im is null;
    s.imark := greatest(s.imark, now - idlefor);
    delete from @.ukey where ctid = any (array(select ctid from @.ukey where queue = s.queue and until is not null and until <= now order by until limit lim for update skip locked));
  end if;

  select min(due) into z from (select due from @.task where queue = s.queue and state = 2 and task.due >= s.zmark order by task.due limit 1) x;
  select min(until) into l from (select until from @.task where queue = s.queue and state = 1 and until >= s.lmark order by until, id limit 1) x;
  s.zmark := coalesce(z, now); s.lmark := coalesce(l, now);
  s.nd := least(coalesce(z, 9e18::bigint), coalesce(l, 9e18::bigint), coalesce(x + deadfor, 9e18::bigint));
  if done = 0 and s.nd <= now then s.nd := now + 250000; end if; -- what is due is locked by a transaction
  s.changed := true;
  return s;
end $$;

-- pop delivers up to n tasks in fair order: the tenants with the least tags, their first tasks, and of these the first n by start tag.
-- No more once they have so many bytes. With names or patterns: of these tenants only.
-- The last row has no id: pos is how many us until something is due (-1: nothing), first is now, cost is 1 if more can be delivered,
-- and token and deadline are the first transaction that was not over, and the one after the last.
create function @.pop(q int, want bigint, lease bigint, idlefor bigint, bytes bigint, names text[], patterns text[]) returns setof @.delivery language plpgsql @looped as $$
declare c @.queue; s @.state; now bigint; h @.delivery; r record; got bigint := 0; was bigint; gone bigint; dim bigint; v0 float8; p0 bigint; high float8; wait bigint; b int;
  hist bigint[]; cur pg_snapshot; left_ boolean;
begin
  perform set_config('synchronous_commit', 'off', true); -- a delivery that is lost is made again
  perform @.barge(q);
  select * into c from @.queue where queue.id = q;
  dim := coalesce(c.maxinflightpertenant, 0);
  cur := pg_current_snapshot();
  s := @.apply(c, false);
  now := @.now_us(); s.hlc := greatest(s.hlc, now); hist := s.waits;
  if s.nd <= now or now - s.swept > 1000000 then s := @.maintain(s, c, now, idlefor, 500); end if;
  if s.paused then want := 0; elsif c.maxinflight > 0 then want := least(want, c.maxinflight - s.inflight); end if;
  for round in 1..20 loop
    exit when got >= want or bytes <= 0;
    was := got; gone := 0; high := s.v;
    for r in
      with rdy as materialized (
        select t.ctid ct, t.tenant, t.f, coalesce(t.w, t.wd, 1) w, t.i, coalesce(t.im, dim) im, t.mark, t.n, t.pos tpos from @.tenant t
        where t.queue = q and t.ready and (t.f, t.pos) >= (s.v, s.vpos) and (names is null or t.tenant = any (names)) and (patterns is null or t.tenant like any (patterns))
        order by t.f, t.pos, t.tenant limit want - got
      ), portion as materialized (
        select least(want - got, greatest(2, 2 * (want - got) / greatest(count(*), 1))) m from rdy
      ), k as materialized (
        select rdy.*, (case when im > 0 then greatest(least(m, im - i), 0) else m end)::int m from rdy, portion
      ), heads as materialized (
        select k.ct, k.tenant, k.f, k.tpos, k.w, k.n, k.m, x.*, k.f + coalesce(sum(x.eff) over o, 0) as start, row_number() over (partition by k.tenant order by x.score, x.id) rn
        from k cross join lateral (
          select t.ctid tct, t.id, t.score, octet_length(t.payload) size, t.deadline > 0 and t.deadline <= now late,
            case when t.deadline > 0 and t.deadline <= now then 0::float8 else least(t.cost / k.w, 1e15) end eff
          from @.task t where t.queue = q and t.tenant = k.tenant and t.state = 0 and t.score >= k.mark order by t.score, t.id limit k.m) x
        window o as (partition by k.tenant order by x.score, x.id rows between unbounded preceding and 1 preceding)
      ), cut as materialized (
        select min(start + eff) at from heads where rn = m and n > m
      ), first as materialized (
        select heads.*, row_number() over w pos, sum(size) over w - size as before from heads, cut where cut.at is null or start <= cut.at
        window w as (order by start, tpos, tenant, rn) order by start, tpos, tenant, rn limit want - got
      ), chosen as materialized (
        select * from first where before < bytes
      ), late as (
        delete from @.task t using chosen where t.ctid = chosen.tct and chosen.late returning t.id, t.tenant, t.ends, t.ukey
      ), lk as (
        delete from @.ukey y using late where late.ends and y.queue = q and y.tenant = late.tenant and y.ukey = late.ukey and y.id = late.id
      ), u as (
        update @.task t set state = 1, token = s.hlc + chosen.pos, until = now + lease from chosen where t.ctid = chosen.tct and not chosen.late
        returning t.id, t.token, t.tenant, t.priority, t.cost, t.attempt, t.most, t.first, t.deadline, t.until, t.cancelled, t.ends, t.ukey, t.meta, t.payload, chosen.pos, chosen.size
      ), per as (
        select ct, count(*) c, count(*) filter (where not late) l, sum(eff) eff, max(score) mark from chosen group by ct
      ), ut as (
        update @.tenant t set seq = t.seq + 1, n = t.n - per.c, i = t.i + per.l, d = t.d + per.l, mark = per.mark, pos = s.seq + 1,
          f = case when t.f + per.eff = t.f and per.eff > 0 then t.f * (1 + 2.3e-16) else t.f + per.eff end,
          ready = t.n - per.c > 0 and (coalesce(t.im, dim) <= 0 or t.i + per.l < coalesce(t.im, dim)),
          idle = case when t.n - per.c + t.z + t.i + per.l <= 0 then now else 0 end
        from per where t.ctid = per.ct
      )
      select u.*, null::bigint expired, null::float8 start from u
      union all select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, count(*) filter (where late), max(start) from chosen
      order by 16
    loop
      if r.id is null then gone := r.expired; high := greatest(high, r.start); continue; end if;
      got := got + 1; bytes := bytes - r.size;
      if r.attempt = 0 then                         -- bucket b is up to 2^b ms
        wait := greatest(now - r.first, 0);
        b := case when wait <= 1000 then 1 else least(ceil(ln(wait / 1000.0::float8) / ln(2::float8))::int, 31) + 1 end;
        hist[b] := hist[b] + 1; s.waited := s.waited + wait;
      end if;
      return next row(r.id, r.token, r.tenant, r.priority, r.cost, r.attempt, r.most, r.first, r.deadline, r.until, r.cancelled, r.ends, r.ukey, r.meta, r.payload, r.pos)::@.delivery;
    end loop;
    s.hlc := s.hlc + (got - was) + gone; s.changed := s.changed or gone > 0;
    s.queued := s.queued - (got - was) - gone; s.inflight := s.inflight + got - was; s.delivered := s.delivered + got - was; s.expired := s.expired + gone;
    exit when got = was and gone = 0;
    select f, pos into v0, p0 from @.tenant where queue = q and ready and (f, pos) >= (s.v, s.vpos) order by f, pos limit 1;
    if v0 is not null then s.v := v0; s.vpos := p0;
    elsif names is null and patterns is null then s.v := greatest(s.v, high); s.vpos := s.seq + 1; end if;
    exit when v0 is null or names is not null or patterns is not null;
  end loop;
  s.waits := hist; s.changed := s.changed or got > 0;
  if got > 0 then s.lmark := least(s.lmark, now + lease); s.nd := least(s.nd, now + lease); end if;
  select s.more or (exists (select from @.tenant where queue = q and ready and (f, pos) >= (s.v, s.vpos)) and not s.paused
    and not coalesce(c.maxinflight > 0 and s.inflight >= c.maxinflight, false)) into left_;
  if left_ and (got > 0 or names is not null or patterns is not null) then perform @.wake(q); end if;
  if s.changed then perform @.put(s); end if;
  h.token := pg_snapshot_xmin(cur)::text::bigint; h.deadline := pg_snapshot_xmax(cur)::text::bigint;
  h.pos := case when s.nd >= 9e18::bigint then -1 else greatest(s.nd - now, 0) end; h.first := now; h.cost := left_::int; h.until := now + lease;
  return next h;
end $$;

-- ack ends deliveries for good, and returns the places of those that were the caller's. The caller has sorted the ids: calls lock in the
-- same order.
create function @.ack(q int, ids text[], tokens bigint[], charges bigint[]) returns setof bigint language plpgsql @looped as $$
declare lq int := -q; hurry boolean;
begin
  select c.limited or c.maxinflight > 0 or c.maxinflightpertenant > 0 into hurry from @.queue c where c.id = q;
  hurry := coalesce(hurry, false);
  if hurry or exists (select from unnest(charges) x where x <> 0) then lq := q; end if;
  return query with a as materialized (select * from unnest(ids, tokens, charges) with ordinality u(id, token, charge, ord)),
  gone as (
    delete from @.task t using a where t.queue = q and t.id = any (ids) and t.id = a.id and t.token = a.token and t.state + 0 = 1 -- + 0: not by the index of leases
    returning t.id, t.tenant, t.ends, t.ukey, a.charge, a.ord
  ), k as (
    delete from @.ukey y using gone where gone.ends and y.queue = q and y.tenant = gone.tenant and y.ukey = gone.ukey and y.id = gone.id
  ), l as (
    insert into @.log (queue, xid, tenant, kind, n, charge) select lq, pg_current_xact_id(), tenant, 3, count(*), nullif(sum(charge), 0) from gone group by tenant
  ), o as (
    insert into @.log (queue, xid, tenant, kind, n) select q, pg_current_xact_id(), '', 15, cardinality(ids) - count(*) from gone having count(*) < cardinality(ids)
  ) select gone.ord from gone;
  if hurry then perform @.wake(q); end if;
end $$;

-- leave ends deliveries otherwise, and returns those that were the caller's: 1 it is queued again, or later; 2 it is dead; 3 it was cancelled.
create function @.leave(q int, ids text[], tokens bigint[], released boolean, after bigint, why text, bury boolean, delta bigint) returns table (place bigint, what int) language plpgsql @looped as $$
declare now bigint := @.now_us();
begin
  return query with a as materialized (select * from unnest(ids, tokens) with ordinality u(id, token, ord)),
  gone as (
    delete from @.task t using a where t.queue = q and t.id = any (ids) and t.id = a.id and t.token = a.token and t.state + 0 = 1 and t.cancelled
    returning t.id, t.tenant, t.ends, t.ukey, a.ord
  ), u as (
    update @.task t set attempt = t.attempt + case when released then 0 else 1 end,
      state = case when not released and (bury or t.attempt + 1 >= t.most) then 3 when after > 0 then 2 else 0 end,
      until = case when not released and (bury or t.attempt + 1 >= t.most) then now else 0 end,
      reason = case when released then t.reason else why end,
      due = case when after > 0 and not (not released and (bury or t.attempt + 1 >= t.most)) then now + after else t.due end
    from a where t.queue = q and t.id = any (ids) and t.id = a.id and t.token = a.token and t.state + 0 = 1 and not t.cancelled
    returning t.id, t.tenant, t.state, t.score, t.due, t.cost, t.ends, t.ukey, a.ord
  ), k as (
    delete from @.ukey y using (select gone.id, gone.tenant, gone.ends, gone.ukey from gone union all select u.id, u.tenant, u.ends, u.ukey from u where state = 3) g
    where g.ends and y.queue = q and y.tenant = g.tenant and y.ukey = g.ukey and y.id = g.id
  ), l as (
    insert into @.log (queue, xid, tenant, kind, n, low, charge)
    select q, pg_current_xact_id(), u.tenant, case when u.state = 3 then 6 when released then 7 when u.state = 2 then 5 else 4 end, count(*),
      min(case u.state when 2 then u.due when 0 then u.score end), nullif(case when released then -sum(u.cost) else delta end, 0) from u group by u.tenant, u.state
    union all select q, pg_current_xact_id(), gone.tenant, case when released then 9 else 8 end, count(*), null, nullif(delta, 0) from gone group by gone.tenant
  ), o as (
    insert into @.log (queue, xid, tenant, kind, n) select q, pg_current_xact_id(), '', 15, cardinality(ids) - count(*)
    from (select u.id from u union all select gone.id from gone) x having count(*) < cardinality(ids)
  ) select u.ord, case u.state when 3 then 2 else 1 end from u union all select gone.ord, 3 from gone;
  perform @.wake(q);
end $$;

-- extend lets leases end later, and returns those that are the caller's. It does not wait for a transaction that is about to settle one.
create function @.extend(q int, ids text[], tokens bigint[], d bigint, counted boolean) returns table (place bigint, til bigint, gone boolean) language plpgsql @looped as $$
declare now bigint := @.now_us();
begin
  return query with a as materialized (select * from unnest(ids, tokens) with ordinality u(id, token, ord)),
  mine as materialized (
    select t.id, t.until, t.cancelled, a.ord from @.task t join a on t.id = a.id and t.token = a.token where t.queue = q and t.id = any (ids) and t.state + 0 = 1
  ), free as materialized (
    select t.ctid ct from @.task t join a on t.id = a.id and t.token = a.token where t.queue = q and t.id = any (ids) and t.state + 0 = 1 for update of t skip locked
  ), u as (
    update @.task t set until = now + d from free where t.ctid = free.ct returning t.id, t.until, t.cancelled
  ), l as (
    insert into @.log (queue, xid, tenant, kind, n, low) select q, pg_current_xact_id(), '', 16, 1, now + d from u having count(*) > 0
  ), o as (
    insert into @.log (queue, xid, tenant, kind, n) select q, pg_current_xact_id(), '', 15, cardinality(ids) - count(*) from mine having counted and count(*) < cardinality(ids)
  ) select mine.ord, coalesce(u.until, mine.until), coalesce(u.cancelled, mine.cancelled) from mine left join u on u.id = mine.id;
  perform @.wake_before(q, now + d);
end $$;

-- wake_before wakes a sleeper that would not look until then, if one must: it sleeps for 2 s at most.
create function @.wake_before(q int, at bigint) returns void language plpgsql as $$
begin
  if at < @.now_us() + 2000000 then perform @.wake(q); end if;
end $$;

-- These are rare. They hold the lock, so they must not wait for a transaction that may be open for long: @held has a lock_timeout, and
-- the client tries again.

-- open returns a queue's number, and makes the queue if it is new.
create function @.open(which text) returns int language plpgsql @held as $$
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
create function @.upkeep(q int, idlefor bigint, due boolean) returns @.state language plpgsql @held as $$
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
create function @.cancel(q int, which text) returns int language plpgsql @held as $$
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

create function @.pause(q int, who text, yes boolean) returns void language plpgsql @held as $$
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
create function @.settle(q int, who text, weight float8, mq bigint, mi bigint) returns void language plpgsql @held as $$
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
create function @.configure(q int, new bigint[]) returns void language plpgsql @held as $$
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
    where t.queue = q and t.n > 0 and not t.paused and t.ready <> (coalesce(t.im, dim) <= 0 or t.i < coalesce(t.im, dim));
  s.nd := 0;
  perform @.put(s); perform @.wake(q);
end $$;

create function @.requeue(q int, which text[]) returns setof text language plpgsql @held as $$
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

create function @.purge(q int, which text[]) returns int language plpgsql @held as $$
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
create function @.oldest(q int, who text, mark bigint, aging bigint) returns bigint language plpgsql stable @indexed as $$
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
create function @.tenants(q int, which text[], after text, lim int) returns table (tenant text, n bigint, z bigint, i bigint, x bigint, e bigint, d bigint, oldest bigint,
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
