//! An open store of whatever type: what a [`Contender`](crate::contender::Contender) has become.

use crate::results::StoreInfo;
use crate::store::{Client, Footprint, Store};
use crate::tpcc::{TpccScale, TransactionMix};
use crate::workload::{Plan, Population, Timing, Workload};
use crate::{Error, Result, tpcc, workload};

/// An open store. The type is forgotten per measurement, not per operation: within one, every call is
/// a direct one.
pub trait Entrant: Sync + Send {
    /// Who it is and how it is set up.
    fn info(&self) -> StoreInfo;

    /// What it takes up now, all maps together.
    fn footprint(&self) -> Result<Footprint>;

    /// [`workload::run()`] on the first map.
    fn run(&self, population: &Population, workload: &Workload, plan: Plan) -> Result<Timing>;

    /// [`workload::verify`] on the first map.
    fn verify(&self, population: &Population, sample: u64) -> Result<()>;

    /// [`tpcc::load()`] on [`tpcc::MAPS`] maps.
    fn tpcc_load(&self, scale: TpccScale) -> Result<Timing>;

    /// [`tpcc::run()`] on [`tpcc::MAPS`] maps.
    fn tpcc_run(&self, tables: &tpcc::Tables, mix: TransactionMix, plan: Plan) -> Result<Timing>;

    /// One thread's work with the first map, for those who need no speed.
    fn client(&self) -> Result<Box<dyn Client + '_>>;
}

/// The maps of one store.
pub(crate) struct Maps<S> {
    pub(crate) info: StoreInfo,
    pub(crate) maps: Vec<S>,
    /// Whether each map's footprint is that of all.
    pub(crate) in_one_file: bool,
}

impl<S> Maps<S> {
    fn first(&self) -> Result<&S> {
        self.maps.first().ok_or(Error::Config("a store has at least one map"))
    }
}

impl<S: Store + Send> Entrant for Maps<S> {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn footprint(&self) -> Result<Footprint> {
        let counted = if self.in_one_file { 1 } else { self.maps.len() };
        self.maps.iter().take(counted).try_fold(Footprint::UNKNOWN, |sum, map| {
            let part = map.footprint()?;
            Ok(Footprint {
                used_bytes: sum.used_bytes + part.used_bytes,
                file_bytes: sum.file_bytes + part.file_bytes,
            })
        })
    }

    fn run(&self, population: &Population, workload: &Workload, plan: Plan) -> Result<Timing> {
        workload::run(self.first()?, population, workload, plan)
    }

    fn verify(&self, population: &Population, sample: u64) -> Result<()> {
        workload::verify(self.first()?, population, sample)
    }

    fn tpcc_load(&self, scale: TpccScale) -> Result<Timing> {
        tpcc::load(&self.maps, scale)
    }

    fn tpcc_run(&self, tables: &tpcc::Tables, mix: TransactionMix, plan: Plan) -> Result<Timing> {
        tpcc::run(&self.maps, tables, mix, plan)
    }

    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(self.first()?.client()?))
    }
}
