-- firqpg, version 1 of the schema. @ is the schema's name.
--
-- What several clients share (the fair order, the counters) has one writer at a time: the holder of the queue's advisory
-- lock, in pop and in calls that are rare. All others only append: a task, or the end of one, and a delta in log. So a
-- transaction that enqueues and stays open holds no lock that others wait for, and two of them never wait for each other.
--
-- Every path to rows that change begins at a mark, behind the dead versions of them: what a call costs does not depend on
-- how many of these a snapshot keeps alive. Times are microseconds since 1970.

create table @.version (version int not null);
insert into @.version values (1);

create table @.queue (
  id int generated always as identity primary key,
  name text collate "C" not null unique,
  maxqueued bigint, maxqueuedpertenant bigint, maxinflight bigint, maxinflightpertenant bigint, -- settings; null: not set
  aging bigint, deads bigint, deadfor bigint,
  limited boolean not null default false,           -- a tenant has a limit in flight
  capped boolean not null default false);           -- a tenant has a limit of queued tasks

create table @.task (
  queue int not null, id text collate "C" not null, tenant text collate "C" not null,
  state smallint not null,                          -- 0 queued, 1 in flight, 2 delayed, 3 dead
  priority smallint not null, cost bigint not null, attempt int not null, most int not null,
  queued bigint not null,
  first bigint not null,                            -- when it was first due
  due bigint not null,                              -- while it is delayed: when it is due
  deadline bigint not null, score bigint not null,
  token bigint not null default 0,
  until bigint not null default 0,                  -- of a lease; of a dead letter: when it died
  cancelled boolean not null default false,
  ends boolean not null default false,              -- its unique key ends with it
  ukey text collate "C", reason text, meta bytea, payload bytea not null,
  primary key (id, queue));                         -- not queue first: plans are made while the table is empty, and would then read all of a queue
create index task_ready on @.task (queue, tenant, score, id) where state = 0;
create index task_leased on @.task (queue, until, id) where state = 1;
create index task_due on @.task (queue, due) where state = 2;
create index task_dead on @.task (queue, until, id) where state = 3;
create index task_deadof on @.task (queue, tenant, until) where state = 3;

create table @.ukey (
  queue int not null, tenant text collate "C" not null, ukey text collate "C" not null, id text collate "C" not null,
  until bigint,                                     -- null: until the task has ended
  primary key (ukey, tenant, queue));
create index ukey_until on @.ukey (queue, until) where until is not null;

-- A row is a version of its tenant: in tenant_key the newest comes first, so that dead ones are never in the way.
create table @.tenant (
  queue int not null, tenant text collate "C" not null, seq bigint not null,
  f float8 not null,                                -- the start tag of its next task
  pos bigint not null default 0,                    -- the version of the state that put it there
  ready boolean not null,
  mark bigint not null,                             -- no queued task has a lesser score
  n bigint not null, z bigint not null, i bigint not null, x bigint not null, -- queued, delayed, in flight, dead
  e bigint not null, d bigint not null,             -- enqueued, delivered
  w float8, wd float8, qm bigint, im bigint,        -- settings: weight, weight by WeightFor, limits
  paused boolean not null default false,
  idle bigint not null default 0);                  -- since when it has no tasks; 0: it has
create index tenant_key on @.tenant (queue, tenant, seq desc);
-- Among equals those come first that were put there first. So (f, pos) is a place behind which there is nobody any more.
create index tenant_ready on @.tenant (queue, f, pos, tenant) where ready;
create index tenant_idle on @.tenant (queue, idle) where idle > 0;

-- The newest row is the queue's state.
create table @.state (
  queue int not null, seq bigint not null,
  snap pg_snapshot not null,                        -- what it sees is brought in: the cursor in log
  asnap pg_snapshot not null,                       -- the same of acks that are in no hurry
  anext bigint not null default 0,                  -- when these are brought in again
  v float8 not null default 0, vpos bigint not null default 0, -- virtual time: the least (f, pos) of a ready tenant
  hlc bigint not null default 0,                    -- the last token
  nd bigint not null default 0,                     -- when upkeep has something to do
  zmark bigint not null default 0, lmark bigint not null default 0, -- no delayed task is due before, no lease ends before
  imark bigint not null default 0, xmark bigint not null default 0, -- where the sweeps of idle tenants and dead letters go on
  gone xid8 not null default '0', agone xid8 not null default '0', -- up to where log was emptied
  swept bigint not null default 0,
  sysid bigint not null,                            -- of the server that these transaction numbers are of
  paused boolean not null default false,
  more boolean not null default false,              -- there is more to bring in
  changed boolean not null default false,           -- since it was read
  queued bigint not null default 0, delayed bigint not null default 0, inflight bigint not null default 0, deadnow bigint not null default 0,
  enqueued bigint not null default 0, requeued bigint not null default 0, acked bigint not null default 0, cancelled bigint not null default 0,
  expired bigint not null default 0, dead bigint not null default 0, purged bigint not null default 0, delivered bigint not null default 0,
  nacked bigint not null default 0, released bigint not null default 0, leaseexpired bigint not null default 0, leaselost bigint not null default 0,
  duplicates bigint not null default 0, rejected bigint not null default 0,
  waited bigint not null default 0, waits bigint[] not null); -- how long tasks had been due: the sum, and how many up to 2^b ms
create index state_key on @.state (queue, seq desc);

-- A delta. kind: 1 queued, 2 queued for later, 3 acked; nacked: 4 queued, 5 later, 6 dead, 8 cancelled; released: 7 queued,
-- 9 cancelled; 13 duplicates, 14 rejected, 15 leases lost, 16 extended.
create table @.log (
  queue int not null,                               -- below 0: an ack that is in no hurry
  xid xid8 not null, tenant text collate "C" not null, kind smallint not null, n int not null,
  low bigint,                                       -- the least score, or when the first is due
  charge float8, w float8);
create index log_key on @.log (queue, xid);

create table @.schedule (
  queue int not null, id text collate "C" not null, plan bytea not null, spec text not null, due bigint not null, last bigint not null default 0,
  primary key (queue, id));
create index schedule_due on @.schedule (queue, due);

alter table @.task set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0, fillfactor = 90);
alter table @.log set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
alter table @.tenant set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
alter table @.state set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create type @.delivery as (id text, token bigint, tenant text, priority int, cost bigint, attempt int, most int, first bigint, deadline bigint,
  until bigint, cancelled boolean, ends boolean, ukey text, meta bytea, payload bytea, pos bigint);
