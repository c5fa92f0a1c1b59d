create or replace function @.now_us() returns bigint language sql volatile as $$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint $$;

-- score is a task's place within its tenant. 6: before all others; 1 to 5: a head start per priority. 315360000000000: ten years,
-- which no task waits: strict.
create or replace function @.score(at bigint, p int, aging bigint) returns bigint language sql immutable as
$$ select case when p = 6 then at - 6000000000000000 else at - (p - 1) * coalesce(aging, 315360000000000) end $$;

create or replace function @.sysid() returns bigint language sql stable as $$ select system_identifier from pg_control_system() $$;

-- space is the first half of the schema's advisory locks. The second half is 8 times the queue plus 0 to 3 for a slot, 4 for the lock.
create or replace function @.space() returns int language sql stable as $$ select @ns::regnamespace::oid::int $$;

-- wake tells one process that sleeps, if any does, and costs next to nothing if none does: a sleeper holds the lock of a slot.
-- The caller has written before, so that a sleeper that took its slot after this look waits for the caller's transaction.
create or replace function @.wake(q int) returns void language plpgsql as $$
declare first int := (random() * 3.999)::int; ns int := @.space(); k int;
begin
  for j in 0..3 loop
    k := (first + j) % 4;
    if pg_try_advisory_lock_shared(ns, q * 8 + k) then perform pg_advisory_unlock_shared(ns, q * 8 + k);
    else perform pg_notify('firq_' || ns || '_' || q || '_' || k, ''); return;
    end if;
  end loop;
end $$;

create or replace function @.lock(q int) returns void language sql as $$ select pg_advisory_xact_lock(@.space(), q * 8 + 4) $$;

-- barge is lock without a queue of those that wait: the one that runs takes it, and the lock is never handed to one that sleeps. Who waits looks less
-- often the longer it has: with many processes before it, it does so for long, and each look costs as much as a tenth of a pop.
create or replace function @.barge(q int) returns void language plpgsql as $$
declare ns int := @.space();
begin
  for k in 1..50 loop
    if pg_try_advisory_xact_lock(ns, q * 8 + 4) then return; end if;
    perform pg_sleep((0.0003 + random() * 0.0012) * least(k, 6));
  end loop;
  perform pg_advisory_xact_lock(ns, q * 8 + 4);
end $$;

-- upto is what a snapshot sees of the transactions before x.
create or replace function @.upto(cur pg_snapshot, x bigint) returns pg_snapshot language sql as $$
  select format('%s:%s:%s', least(pg_snapshot_xmin(cur)::text::bigint, x), x,
    coalesce((select string_agg(i::text, ',' order by i::text::bigint) from pg_snapshot_xip(cur) i where i::text::bigint < x), ''))::pg_snapshot
$$;

-- seen is what this transaction sees of the others. A snapshot does not name the transaction that takes it, which would so count as over: what it appends
-- later would never be brought in.
create or replace function @.seen(cur pg_snapshot) returns pg_snapshot language plpgsql as $$
declare own bigint := pg_current_xact_id_if_assigned()::text::bigint;
begin
  if own is null or own >= pg_snapshot_xmax(cur)::text::bigint then return cur; end if;
  return (select format('%s:%s:%s', least(pg_snapshot_xmin(cur)::text::bigint, own), pg_snapshot_xmax(cur), string_agg(x::text, ',' order by x))
    from (select i::text::bigint x from pg_snapshot_xip(cur) i union select own) t)::pg_snapshot;
end $$;

-- put stores the state as its next version.
create or replace function @.put(s @.state) returns void language plpgsql as $$
declare ct tid;
begin
  select ctid into ct from @.state where queue = s.queue order by seq desc limit 1;
  delete from @.state where ctid = ct;
  s.seq := s.seq + 1; s.changed := false;
  insert into @.state select s.*;
end $$;

-- apply brings what others have appended into the shared state. The caller has the lock, and stores the state.
-- New are the deltas of transactions that the last snapshot did not see, and this one does: exact, whatever commits when.
create or replace function @.apply(c @.queue, hurry boolean default true) returns @.state language plpgsql as $$
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
  -- While nothing is queued all that is new are acks, most of which are in no hurry: look for a delta that is, and do not start the statement that
  -- brings them in, which takes a ninth of a pop of four tasks.
  if acks is not true and not s.more then
    perform from @.log where queue = q and xid >= pg_snapshot_xmax(was) limit 1;
    if not found then
      perform from pg_snapshot_xip(was) i cross join lateral (select from @.log where queue = q and xid = i offset 0) x limit 1;
      if not found then return s; end if;
    end if;
  end if;
  -- Deltas are added up by tenant and kind first: a million that came while there was no consumer then take half the time, and no file. Those of a
  -- transaction that the last snapshot has not seen are looked up by its number. As a join they are not: planned while log is small, it reads all
  -- that the queue has in it, for each pop, with what a held snapshot keeps. offset 0: the subquery stays one.
  with l as materialized (
    select tenant, kind, sum(n)::int n, min(low) low, sum(charge) charge, max(w) w from (
    select tenant, kind, n, low, charge, w from @.log where queue = q and xid >= pg_snapshot_xmax(was) and xid < pg_snapshot_xmax(cur) and pg_visible_in_snapshot(xid, cur)
    union all
    select x.* from pg_snapshot_xip(was) i cross join lateral (select tenant, kind, n, low, charge, w from @.log where queue = q and xid = i offset 0) x where pg_visible_in_snapshot(i, cur)
    union all
    select tenant, kind, n, low, charge, w from @.log where acks and queue = -q and xid >= pg_snapshot_xmax(awas) and xid < pg_snapshot_xmax(cur) and pg_visible_in_snapshot(xid, cur)
    union all
    select x.* from pg_snapshot_xip(awas) i cross join lateral (select tenant, kind, n, low, charge, w from @.log where queue = -q and xid = i offset 0) x where acks and pg_visible_in_snapshot(i, cur)
    ) y group by tenant, kind
  ), a as materialized (
    select l.tenant, sum(case when kind in (1, 4, 7) then l.n else 0 end) dn, sum(case when kind in (2, 5) then l.n else 0 end) dz,
      sum(case when kind between 3 and 9 then l.n else 0 end) di, sum(case when kind = 6 then l.n else 0 end) dx,
      sum(case when kind in (1, 2) then l.n else 0 end) de, min(case when kind in (1, 4, 7) then low end) low, sum(charge) charge, max(l.w) w
    from l where kind < 13 group by l.tenant
  ), old as materialized (
    select a.*, t.ct, t.f + greatest(-1e15, least(coalesce(charge, 0) / coalesce(t.w, a.w, t.wd, 1), 1e15)) tag, t.n + dn > 0 and not t.paused
      -- A delta lets a tenant that is held back go on if it has another first task, or owes less.
      and (t.held is null or t.n <= 0 or coalesce(low < t.mark, false) or coalesce(charge < 0, false)) eligible
    from a left join lateral (select ctid ct, t.* from @.tenant t where t.queue = q and t.tenant = a.tenant order by seq desc limit 1) t on true
  ), u as (
    update @.tenant t set seq = t.seq + 1, n = t.n + dn, z = t.z + dz, i = t.i - di, x = t.x + dx, e = t.e + de, wd = coalesce(old.w, t.wd),
      mark = case when t.n <= 0 and low is not null then low else least(t.mark, coalesce(low, t.mark)) end,
      f = case when eligible then greatest(tag, s.v) else tag end,
      held = case when eligible then null else t.held end,
      used = case when charge is null or t.used is null then t.used else greatest(0, @.used_at(t.used, t.usedat, t.usedrate, @.now_us()) + charge) end,
      usedat = case when charge is null or t.used is null then t.usedat else greatest(@.now_us(), t.usedat) end,
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
create or replace function @.adjust(s @.state, who text, dim bigint, dn bigint, dz bigint, di bigint, dx bigint, low bigint) returns void language plpgsql as $$
declare ct tid;
begin
  select ctid into ct from @.tenant where queue = s.queue and tenant = who order by seq desc limit 1;
  if ct is null then
    insert into @.tenant (queue, tenant, seq, f, ready, mark, n, z, i, x, e, d)
    values (s.queue, who, 0, s.v, false, 9e18::bigint, 0, 0, 0, 0, 0, 0) returning ctid into ct;
  end if;
  update @.tenant t set seq = seq + 1, held = null, n = n + dn, z = z + dz, i = i + di, x = x + dx,
    mark = case when n <= 0 and low is not null then low else least(mark, coalesce(low, mark)) end,
    f = case when n + dn > 0 and not t.paused then greatest(f, s.v) else f end,
    pos = case when ready and f >= s.v then pos else s.seq + 1 end,
    ready = n + dn > 0 and not t.paused and (coalesce(im, dim) <= 0 or i + di < coalesce(im, dim)),
    idle = case when n + dn + z + dz + i + di <= 0 then @.now_us() else 0 end
  where t.ctid = ct;
end $$;

-- retain removes the dead letters of a tenant that are too many.
create or replace function @.retain(s @.state, who text, dim bigint, deads bigint) returns @.state language plpgsql as $$
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
create or replace function @.restored(s @.state, dim bigint) returns @.state language plpgsql as $$
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
    insert into @.tenant (queue, tenant, seq, f, pos, ready, mark, n, z, i, x, e, d, w, wd, qm, im, rate, burst, used, usedat, usedrate, paused, idle)
    select s.queue, tenant, coalesce(old.seq, 0) + 1, greatest(old.f, s.v), s.seq + 1, coalesce(c.n, 0) > 0 and not coalesce(old.paused, false)
        and (coalesce(old.im, dim) <= 0 or coalesce(c.i, 0) < coalesce(old.im, dim)), coalesce(c.mark, 9e18::bigint),
      coalesce(c.n, 0), coalesce(c.z, 0), coalesce(c.i, 0), coalesce(c.x, 0), coalesce(old.e, 0), coalesce(old.d, 0), old.w, old.wd, old.qm, old.im, old.rate, old.burst, old.used, old.usedat, old.usedrate,
      coalesce(old.paused, false), case when coalesce(c.n + c.z + c.i, 0) = 0 then 1 else 0 end
    from c full join old using (tenant)
  )
  select coalesce(sum(n), 0) n, coalesce(sum(z), 0) z, coalesce(sum(i), 0) i, coalesce(sum(x), 0) x, pg_current_snapshot() cur into r from c;
  s.queued := r.n; s.delayed := r.z; s.inflight := r.i; s.deadnow := r.x;
  s.snap := @.seen(r.cur); s.asnap := s.snap; s.gone := '0'; s.agone := '0'; s.sysid := @.sysid(); s.more := false; s.changed := true;
  s.zmark := 0; s.hmark := 0; s.lmark := 0; s.xmark := 0; s.imark := 0; s.nd := 0; s.vpos := 0;
  s.dead := greatest(s.dead, s.requeued + s.purged + s.deadnow);
  s.purged := s.dead - s.requeued - s.deadnow;
  have := s.acked + s.cancelled + s.expired + s.dead + s.queued + s.delayed + s.inflight - s.requeued;
  s.acked := s.acked + greatest(s.enqueued - have, 0); s.enqueued := greatest(s.enqueued, have);
  s.delivered := s.acked + s.nacked + s.released + s.leaseexpired + s.inflight;
  return s;
end $$;
