-- maintain brings in what is due, takes back what was leased for too long, and sweeps. The caller has the lock and has applied the
-- log. Rows that a transaction has locked are left to it. lim: how many of each kind; if there are more, nd is now.
create or replace function @.maintain(s @.state, c @.queue, now bigint, idlefor bigint, lim int) returns @.state language plpgsql as $$
declare r record; h bigint; z bigint; l bigint; x bigint; dim bigint := coalesce(c.maxinflightpertenant, 0); deads bigint := coalesce(c.deads, 10000);
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

  for r in select tenant from @.tenant where queue = s.queue and held >= s.hmark and held <= now order by held limit lim loop
    perform @.adjust(s, r.tenant, dim, 0, 0, 0, 0, null); done := done + 1;
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
    s.gone := @.clip(s.queue, s.gone, pg_snapshot_xmin(s.snap));
    s.agone := @.clip(-s.queue, s.agone, pg_snapshot_xmin(s.asnap));
    if c.rated then                                 -- a tenant that owes something is idle from when it does not
      update @.tenant y set seq = y.seq + 1, idle = least(y.usedat + ceil(y.used / y.usedrate * 1e6), 8e15)::bigint
        where y.queue = s.queue and y.idle > 0 and y.idle > s.imark and y.idle <= now - idlefor and @.used_at(y.used, y.usedat, y.usedrate, now) > 0;
    end if;
    delete from @.tenant y where y.queue = s.queue and y.idle > 0 and y.idle > s.imark and y.idle <= now - idlefor
      and y.n = 0 and y.z = 0 and y.i = 0 and y.x = 0 and not y.paused and y.w is null and y.qm is null and y.im is null and y.rate is null;
    s.imark := greatest(s.imark, now - idlefor);
    delete from @.ukey where ctid = any (array(select ctid from @.ukey where queue = s.queue and until is not null and until <= now order by until limit lim for update skip locked));
  end if;

  select min(due) into z from (select due from @.task where queue = s.queue and state = 2 and task.due >= s.zmark order by task.due limit 1) x;
  select min(until) into l from (select until from @.task where queue = s.queue and state = 1 and until >= s.lmark order by until, id limit 1) x;
  -- While nothing is leased, no lease ends before one that is given from now on, which lowers the mark. Else each second would read what has been
  -- leased for as long as a lease is.
  s.zmark := coalesce(z, now); s.lmark := coalesce(l, 9e18::bigint);
  select held into h from @.tenant where queue = s.queue and held >= s.hmark order by held limit 1;
  s.hmark := coalesce(h, now);
  s.nd := least(coalesce(h, 9e18::bigint), coalesce(z, 9e18::bigint), coalesce(l, 9e18::bigint), coalesce(x + deadfor, 9e18::bigint));
  if done = 0 and s.nd <= now then s.nd := now + 250000; end if; -- what is due is locked by a transaction
  s.changed := true;
  return @.unkeep(s, now);
end $$;

-- pop delivers up to n tasks in fair order: the tenants with the least tags, their first tasks, and of these the first n by start tag.
-- No more once they have so many bytes. With names or patterns: of these tenants only.
-- The last row has no id: pos is how many us until something is due (-1: nothing), first is now, cost is 1 if more can be delivered,
-- and token and deadline are the first transaction that was not over, and the one after the last.
create or replace function @.pop(q int, want bigint, lease bigint, idlefor bigint, bytes bigint, names text[], patterns text[]) returns setof @.delivery language plpgsql @looped as $$
declare c @.queue; s @.state; now bigint; h @.delivery; r record; got bigint := 0; was bigint; gone bigint; dim bigint; v0 float8; p0 bigint; high float8; wait bigint;
  b int; hist bigint[]; cur pg_snapshot; left_ boolean; allow jsonb; due bigint; who text[] := '{}'; paid bigint[] := '{}';
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
    if c.rated then
      select x.allow, x.due into allow, due from @.hold(s, c, want - got, names, patterns, now) x;
      if due is not null then s.nd := least(s.nd, due); s.hmark := least(s.hmark, due); s.changed := true; end if;
    end if;
    for r in
      with rdy as materialized (
        select t.ctid ct, t.tenant, t.f, coalesce(t.w, t.wd, 1) w, t.i, coalesce(t.im, dim) im, t.mark, t.n, t.pos tpos from @.tenant t
        where t.queue = q and t.ready and (t.f, t.pos) >= (s.v, s.vpos) and (names is null or t.tenant = any (names)) and (patterns is null or t.tenant like any (patterns))
        order by t.f, t.pos, t.tenant limit want - got
      ), portion as materialized (
        select least(want - got, greatest(2, 2 * (want - got) / greatest(count(*), 1))) m from rdy
      ), k as materialized (
        select rdy.*, least(case when im > 0 then greatest(least(m, im - i), 0) else m end, (allow ->> rdy.tenant)::bigint)::int m from rdy, portion
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
      if c.rated then who := who || r.tenant; paid := paid || r.cost; end if;
      if r.attempt = 0 then                         -- bucket b is up to 2^b ms
        wait := greatest(now - r.first, 0);
        b := case when wait <= 1000 then 1 else least(ceil(ln(wait / 1000.0::float8) / ln(2::float8))::int, 31) + 1 end;
        hist[b] := hist[b] + 1; s.waited := s.waited + wait;
      end if;
      return next row(r.id, r.token, r.tenant, r.priority, r.cost, r.attempt, r.most, r.first, r.deadline, r.until, r.cancelled, r.ends, r.ukey, r.meta, r.payload, r.pos)::@.delivery;
    end loop;
    if who <> '{}' then perform @.charge(c, who, paid, now); who := '{}'; paid := '{}'; end if;
    s.hlc := s.hlc + (got - was) + gone; s.changed := s.changed or gone > 0;
    s.queued := s.queued - (got - was) - gone; s.inflight := s.inflight + got - was; s.delivered := s.delivered + got - was; s.expired := s.expired + gone;
    exit when got = was and gone = 0;
    select f, pos into v0, p0 from @.tenant where queue = q and ready and (f, pos) >= (s.v, s.vpos) order by f, pos limit 1;
    if v0 is not null then s.v := v0; s.vpos := p0;
    elsif names is null and patterns is null then s.v := greatest(s.v, high); s.vpos := s.seq + 1; end if;
    -- Also for some tenants: what has expired must not keep their other tasks waiting, and those to steal come after them.
    exit when v0 is null or gone = 0 and (names is not null or patterns is not null);
  end loop;
  s.waits := hist; s.changed := s.changed or got > 0;
  if got > 0 then s.lmark := least(s.lmark, now + lease); s.nd := least(s.nd, now + lease); end if;
  select s.more or (exists (select from @.tenant where queue = q and ready and (f, pos) >= (s.v, s.vpos)) and not s.paused
    and not coalesce(c.maxinflight > 0 and s.inflight >= c.maxinflight, false)) into left_;
  if left_ and (got > 0 or names is not null or patterns is not null) then perform @.wake(q); end if;
  -- A pop for a queue that does not exist has its session plan what pops do, while others have the lock of theirs.
  if s.changed and c.id is not null then perform @.put(s); end if;
  h.token := pg_snapshot_xmin(cur)::text::bigint; h.deadline := pg_snapshot_xmax(cur)::text::bigint;
  h.pos := case when s.nd >= 9e18::bigint then -1 else greatest(s.nd - now, 0) end; h.first := now; h.until := now + lease;
  h.cost := case when left_ and got = 0 and gone > 0 then 2 else left_::int end;
  return next h;
end $$;

-- clip empties log from since until til, at most some 100,000 deltas at a time, and returns where it has ended. A million would hold the lock for a second.
create or replace function @.clip(q int, since xid8, til xid8) returns xid8 language plpgsql as $$
declare x xid8;
begin
  select xid into x from @.log where queue = q and xid >= since order by xid offset 100000 limit 1;
  x := least(x, til); -- a bound of the index scan: as "x is null or ..." it would be a filter, and each call would read all that is left
  delete from @.log where queue = q and xid >= since and xid < til and xid <= x;
  return greatest(since, x);
end $$;
