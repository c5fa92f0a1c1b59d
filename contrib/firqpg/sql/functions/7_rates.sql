create or replace function @.used_at(used float8, at bigint, rate float8, now bigint) returns float8 language sql immutable as
$$ select greatest(0, used - greatest(0, now - at) * rate / 1e6) $$;

-- hold looks at the tenants that come first. It takes those out of the order whose rate holds their next task back, until none is left among them, and returns
-- how many tasks of each other one may go, if it has a rate, and when the first that is held back may go on.
create or replace function @.hold(s @.state, c @.queue, lim bigint, names text[], patterns text[], now bigint, out allow jsonb, out due bigint) language plpgsql as $$
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
create or replace function @.charge(c @.queue, who text[], costs bigint[], now bigint) returns void language sql as $$
  update @.tenant t set seq = t.seq + 1, used = @.used_at(t.used, t.usedat, t.usedrate, now) + w.cost, usedat = greatest(now, t.usedat), usedrate = coalesce(t.rate, c.rate)
  from (select tenant, sum(cost)::float8 cost from unnest(who, costs) u(tenant, cost) group by tenant) w
    cross join lateral (select x.ctid ct from @.tenant x where x.queue = c.id and x.tenant = w.tenant order by x.seq desc limit 1) x
  where t.ctid = x.ct and coalesce(t.rate, c.rate) > 0
$$;

-- throttle sets the rate of a tenant, or with '' of those that have none of their own. per: 0 none is set; below 0 none holds. What is owed stays the same.
create or replace function @.throttle(q int, who text, per float8, most bigint) returns void language plpgsql @held as $$
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
