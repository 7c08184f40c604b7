/** The orders of a small shop. */

import express, { Router, type Request as Req } from 'express';
import * as money from './money.js';
import type { Cart } from '../cart';
import './polyfill';
import fs = require('node:fs');
import { price as cost } from '@/lib/price';
export { Basket, type Item as Thing } from './basket';
export * from './events';
export * as colours from './colours/index.ts';

/** Most orders that are open at once. */
export const MOST = 12;

// A table nobody else sees.
const table: Map<string, Order> = new Map();
let registry = new Registry(), count = 0;
const { left, right: other } = sides();

export type Id = string | number;
export type Maybe<T> = T extends null ? never : T;

/** What can be sold. */
export interface Sellable extends Named, money.Priced<Id> {
  readonly id: Id;
  /** Its price. */
  price(at: Date): money.Amount;
  onSold: (by: Buyer) => void;
}

export enum State {
  Open = 'open',
  Shut = close('shut'),
}

export abstract class Base<T> {
  protected abstract total(): number;
  constructor(private readonly store: Store<T>, public name?: string) {
    super();
  }
  private _cache = new Cache();
  #secret = 1;
  static make(): Order {
    return new Order();
  }
  find(id: string): T;
  find(id: number): T;
  /** Finds one. */
  find(id: Id): T {
    this.store.load(id);
    this._cache.get(id);
    this.#hidden();
    return this.total() as T;
  }
  #hidden(): void {}
  _soft() {}
  onClick = async (event: Event): Promise<void> => {
    await this.find(event.id);
  };
  get size() { return table.size; }
}

/** One order. */
@Entity({ name: 'orders' })
export class Order extends Base<Item> implements Sellable, money.Priced {
  @Column() lines: Line[] = [];
  @Input
  @Required()
  price(at: Date) {
    super.price(at);
    const line = new Line();
    line.sum();
    registry.note(this);
    Order.make();
    return money.sum(this.lines.map((one) => cost(one)));
  }
  total() { return helper(this); }
}

/** Opens the shop. */
export default async function open(port: number, cart?: Cart | null): Promise<void>;
export default async function open(port: number, cart?: Cart | null) {
  cart.add(port);
  const close = () => shut(port);
  close();
  function shut(p: number) { return cost(p); }
  const { lazy } = await import('./lazy');
  lazy();
  console.log('open');
  parseInt('1');
  for (const row of table) row.print();
  try { risky(); } catch (error) { error.report(); }
}

function helper(order: Order): number {
  return order.price(new Date());
}
export { helper };

export namespace Tools.Inner {
  export function hammer<K extends keyof Order>(key: K): void { nail(key); }
}

declare module 'foreign' {
  export function far(): void;
}

declare function ambient(x: number): string;

export const routes = {
  list: (req: Req) => respond(req),
  show(req: Req) { return this.list(req); },
  nested: { deep() {} },
};

routes.list(null);
export const Wrapped = memo((props: Props) => helper(props.order));
