-- firqpg, version 2 of the schema: rates per tenant.

alter table @.queue add column rate float8, add column burst bigint, -- of tenants without their own; null: none
  add column rated boolean not null default false;  -- there has been a rate

-- used was used of the burst at usedat, and has come back at usedrate per second since. rate below 0: none, whatever the queue has.
alter table @.tenant add column rate float8, add column burst bigint, add column used float8, add column usedat bigint, add column usedrate float8,
  add column held bigint;                           -- its rate holds its next task back until then, and it is not ready; null: it does not
create index tenant_held on @.tenant (queue, held) where held is not null;

alter table @.state add column hmark bigint not null default 0; -- no tenant may go on before

create function @.used_at(used float8, at bigint, rate float8, now bigint) returns float8 language sql immutable as
$$ select greatest(0, used - greatest(0, now - at) * rate / 1e6) $$;

-- hold looks at the tenants that come first. It takes those out of the order whose rate holds their next task back, until none is left among them, and returns
-- how many tasks of each other one may go, if it has a rate, and when the first that is held back may go on.
create function @.hold(s @.state, c @.queue, lim bigint, names text[], patterns text[], now bigint, out allow jsonb, out due bigint) language plpgsql as $$
declare r record; h record; needs float8; k bigint; again boolean := true; at bigint;
begin
  allow := '{}';
  while again loop
    again := false;
    for r in
      select t.ct, t.tenant, t.mark, coalesce(t.rate, c.rate) per, case when t.rate is null then c.burst else t.burst end most,
        @.used_at(t.used, t.usedat, t.usedrate, now) used, greatest(now, t.usedat) at, greatest(2, 2 * lim / count(*) over ()) portion -- as pop has it
      from (select t.ctid ct, t.* from @.tenant t where t.queue = s.queue and t.ready and (t.f, t.pos) >= (s.v, s.vpos) and (names is null or t.tenant = any (names))
        and (patterns is null or t.tenant like any (patterns)) order by t.f, t.pos, t.tenant limit lim) t
      order by t.f, t.pos, t.tenant
    loop
      continue when coalesce(r.per, 0) <= 0 or allow ? r.tenant;
      k := 0; needs := 0;
      for h in
        select t.cost, t.score, t.deadline > 0 and t.deadline <= now late from @.task t
        where t.queue = s.queue and t.tenant = r.tenant and t.state = 0 and t.score >= r.mark order by t.score, t.id limit least(lim, r.portion)
      loop
        if not h.late then
          needs := case when h.cost > r.most then r.used else r.used + h.cost - r.most end; -- a whole bucket, and then a debt
          exit when needs > 0;
          r.used := r.used + h.cost;
        end if;
        k := k + 1;
      end loop;
      if k > 0 or needs <= 0 then allow := allow || jsonb_build_object(r.tenant, k); continue; end if;
      at := least(floor(r.at + needs / r.per * 1e6) + 1, 8e15)::bigint;
      update @.tenant t set seq = t.seq + 1, ready = false, held = at, mark = h.score where t.ctid = r.ct;
      due := least(due, at); again := true;
    end loop;
  end loop;
end $$;

-- charge charges deliveries.
create function @.charge(c @.queue, who text[], costs bigint[], now bigint) returns void language sql as $$
  update @.tenant t set seq = t.seq + 1, used = @.used_at(t.used, t.usedat, t.usedrate, now) + w.cost, usedat = greatest(now, t.usedat), usedrate = coalesce(t.rate, c.rate)
  from (select tenant, sum(cost)::float8 cost from unnest(who, costs) u(tenant, cost) group by tenant) w
    cross join lateral (select x.ctid ct from @.tenant x where x.queue = c.id and x.tenant = w.tenant order by x.seq desc limit 1) x
  where t.ctid = x.ct and coalesce(t.rate, c.rate) > 0
$$;

-- throttle sets the rate of a tenant, or with '' of those that have none of their own. per: 0 none is set; below 0 none holds. What is owed stays the same.
create function @.throttle(q int, who text, per float8, most bigint) returns void language plpgsql @held as $$
declare c @.queue; s @.state; dim bigint; now bigint;
begin
  perform @.lock(q);
  select * into c from @.queue where id = q;
  s := @.apply(c); dim := coalesce(c.maxinflightpertenant, 0); now := @.now_us();
  update @.queue set rated = true where id = q and not rated and per > 0;
  if who = '' then
    update @.queue set rate = nullif(per, 0), burst = case when per > 0 then most end where id = q;
    update @.tenant t set seq = t.seq + 1, used = @.used_at(t.used, t.usedat, t.usedrate, now), usedat = greatest(now, t.usedat), usedrate = per
      where t.queue = q and t.used is not null and t.rate is null and per > 0;
    perform @.adjust(s, t.tenant, dim, 0, 0, 0, 0, null) from @.tenant t where t.queue = q and t.held is not null;
  else
    perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
    update @.tenant t set used = case when t.used is null then null else @.used_at(t.used, t.usedat, t.usedrate, now) end, usedat = greatest(now, t.usedat),
      usedrate = case when coalesce(nullif(per, 0), c.rate) > 0 then coalesce(nullif(per, 0), c.rate) else t.usedrate end,
      rate = nullif(per, 0), burst = case when per > 0 then most end
    where ctid = (select ctid from @.tenant where queue = q and tenant = who order by seq desc limit 1);
    perform @.adjust(s, who, dim, 0, 0, 0, 0, null);
  end if;
  perform @.put(s); perform @.wake(q);
end $$;

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

-- A delta lets a tenant that is held back go on if it has another first task, or owes less.
select @.edit('@.apply',
  't.n + dn > 0 and not t.paused eligible', 't.n + dn > 0 and not t.paused
      and (t.held is null or t.n <= 0 or coalesce(low < t.mark, false) or coalesce(charge < 0, false)) eligible',
  'pos = case when t.ready and t.f =', 'held = case when eligible then null else t.held end,
      used = case when charge is null or t.used is null then t.used else greatest(0, @.used_at(t.used, t.usedat, t.usedrate, @.now_us()) + charge) end,
      usedat = case when charge is null or t.used is null then t.usedat else greatest(@.now_us(), t.usedat) end,
      pos = case when t.ready and t.f =');
select @.edit('@.adjust', 'seq = seq + 1, n = n + dn', 'seq = seq + 1, held = null, n = n + dn'); -- pop looks again
select @.edit('@.configure', 't.ready <> (coalesce', '(t.held is not null or t.ready <> (coalesce', 't.i < coalesce(t.im, dim));', 't.i < coalesce(t.im, dim)));');
select @.edit('@.restored', 'w, wd, qm, im, paused, idle)', 'w, wd, qm, im, rate, burst, used, usedat, usedrate, paused, idle)',
  'old.w, old.wd, old.qm, old.im,', 'old.w, old.wd, old.qm, old.im, old.rate, old.burst, old.used, old.usedat, old.usedrate,',
  's.zmark := 0;', 's.zmark := 0; s.hmark := 0;');
select @.edit('@.ack', 'hurry boolean;', 'hurry boolean; rated boolean;', 'c.maxinflightpertenant > 0 into hurry from', 'c.maxinflightpertenant > 0, c.rated into hurry, rated from',
  'if hurry then perform', 'if hurry or rated and lq = q then perform'); -- a correction may let its tenant go on
select @.edit('@.maintain', 'declare r record;', 'declare r record; h bigint;',
  '  if deadfor >= 0 then
    for r in with d as (', '  for r in select tenant from @.tenant where queue = s.queue and held >= s.hmark and held <= now order by held limit lim loop
    perform @.adjust(s, r.tenant, dim, 0, 0, 0, 0, null); done := done + 1;
  end loop;

  if deadfor >= 0 then
    for r in with d as (',
  '    delete from @.tenant y where', '    if c.rated then                                 -- a tenant that owes something is idle from when it does not
      update @.tenant y set seq = y.seq + 1, idle = least(y.usedat + ceil(y.used / y.usedrate * 1e6), 8e15)::bigint
        where y.queue = s.queue and y.idle > 0 and y.idle > s.imark and y.idle <= now - idlefor and @.used_at(y.used, y.usedat, y.usedrate, now) > 0;
    end if;
    delete from @.tenant y where',
  'y.qm is null and y.im is null;', 'y.qm is null and y.im is null and y.rate is null;',
  's.nd := least(coalesce(z', 'select held into h from @.tenant where queue = s.queue and held >= s.hmark order by held limit 1;
  s.hmark := coalesce(h, now);
  s.nd := least(coalesce(h, 9e18::bigint), coalesce(z');
select @.edit('@.pop', 'declare c @.queue;', 'declare allow jsonb; due bigint; who text[] := ''{}''; paid bigint[] := ''{}''; c @.queue;',
  'high := s.v;', 'high := s.v;
    if c.rated then
      select x.allow, x.due into allow, due from @.hold(s, c, want - got, names, patterns, now) x;
      if due is not null then s.nd := least(s.nd, due); s.hmark := least(s.hmark, due); s.changed := true; end if;
    end if;',
  '(case when im > 0 then greatest(least(m, im - i), 0) else m end)::int m', 'least(case when im > 0 then greatest(least(m, im - i), 0) else m end, (allow ->> rdy.tenant)::bigint)::int m',
  'got := got + 1; bytes := bytes - r.size;', 'got := got + 1; bytes := bytes - r.size;
      if c.rated then who := who || r.tenant; paid := paid || r.cost; end if;',
  '    s.hlc := s.hlc + (got - was) + gone;', '    if who <> ''{}'' then perform @.charge(c, who, paid, now); who := ''{}''; paid := ''{}''; end if;
    s.hlc := s.hlc + (got - was) + gone;');
drop function @.edit(text, text[]);
