-- ack ends deliveries for good, and returns the places of those that were the caller's. The caller has sorted the ids: calls lock in the
-- same order.
create or replace function @.ack(q int, ids text[], tokens bigint[], charges bigint[]) returns setof bigint language plpgsql @looped as $$
declare lq int := -q; hurry boolean; rated boolean;
begin
  select c.limited or c.maxinflight > 0 or c.maxinflightpertenant > 0, c.rated into hurry, rated from @.queue c where c.id = q;
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
  if hurry or rated and lq = q then perform @.wake(q); end if;
end $$;

-- leave ends deliveries otherwise, and returns those that were the caller's: 1 it is queued again, or later; 2 it is dead; 3 it was cancelled.
create or replace function @.leave(q int, ids text[], tokens bigint[], released boolean, after bigint, why text, bury boolean, delta bigint) returns table (place bigint, what int) language plpgsql @looped as $$
declare now bigint := @.now_us();
begin
  return query with a as materialized (select * from unnest(ids, tokens) with ordinality u(id, token, ord)),
  gone as (
    delete from @.task t using a where t.queue = q and t.id = any (ids) and t.id = a.id and t.token = a.token and t.state + 0 = 1 and t.cancelled
    returning t.id, t.tenant, t.cost, t.ends, t.ukey, a.ord
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
    -- A tenant does not pay for a delivery that is released, also if its task was cancelled in between.
    union all select q, pg_current_xact_id(), gone.tenant, case when released then 9 else 8 end, count(*), null, nullif(case when released then -sum(gone.cost) else delta end, 0) from gone group by gone.tenant
  ), o as (
    insert into @.log (queue, xid, tenant, kind, n) select q, pg_current_xact_id(), '', 15, cardinality(ids) - count(*)
    from (select u.id from u union all select gone.id from gone) x having count(*) < cardinality(ids)
  ) select u.ord, case u.state when 3 then 2 else 1 end from u union all select gone.ord, 3 from gone;
  perform @.wake(q);
end $$;

-- extend lets leases end later, and returns those that are the caller's. It does not wait for a transaction that is about to settle one.
create or replace function @.extend(q int, ids text[], tokens bigint[], d bigint, counted boolean) returns table (place bigint, til bigint, gone boolean) language plpgsql @looped as $$
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
create or replace function @.wake_before(q int, at bigint) returns void language plpgsql as $$
begin
  if at < @.now_us() + 2000000 then perform @.wake(q); end if;
end $$;
